from __future__ import annotations

from typing import Any

from handrail.agent.conversation.answer import UNREADABLE, Answer, unreadable
from handrail.agent.models.player import Player
from handrail.agent.models.script import Script, raw_tool_use, reply, text, thinking, tool_use
from tests.agent.test_speaker import Kept


def events(script: Script) -> list[dict[str, Any]]:
    return [step for step in Player(script).reply_to({"model": "m", "tools": [{}]}).stream() if isinstance(step, dict)]


async def heard(kept: Kept, script: Script, *, until: int | None = None) -> Answer:
    answer = Answer(kept.speaker(partial=True), "req_1")
    for event in events(script)[:until]:
        await answer.take(event)
    return answer


def kinds(kept: Kept) -> list[str]:
    return [line["event"]["type"] if "event" in line else line["type"] for line in kept.lines]


async def test_each_block_is_sent_before_its_stop_event() -> None:
    kept = Kept()
    answer = await heard(kept, Script.of([thinking("hm"), text("yes")]))
    stops = [index for index, kind in enumerate(kinds(kept)) if kind == "content_block_stop"]
    assert [kinds(kept)[index - 1] for index in stops] == ["assistant", "assistant"]
    assert (answer.text, answer.stop_reason, answer.whole) == ("yes", "end_turn", True)
    assert all(line["request_id"] == "req_1" for line in kept.lines if line["type"] == "assistant")


async def test_an_input_is_built_from_its_deltas() -> None:
    answer = await heard(Kept(), Script.of(tool_use("Write", file_path="a", content="b" * 200)))
    assert answer.calls[0]["input"] == {"file_path": "a", "content": "b" * 200}
    assert unreadable(answer.calls[0]) is None


async def test_an_input_that_is_not_an_object_is_kept_raw() -> None:
    for raw in ('{"a', "[1]", "5"):
        answer = await heard(Kept(), Script.of(raw_tool_use("Bash", raw)))
        assert unreadable(answer.calls[0]) == {"raw": raw, "len": len(raw)}
        assert list(answer.calls[0]["input"]) == [UNREADABLE]


async def test_an_empty_input_is_an_empty_object() -> None:
    answer = await heard(Kept(), Script.of(raw_tool_use("TaskList", "")))
    assert answer.calls[0]["input"] == {}


async def test_unfinished_text_is_sent_if_it_is_kept() -> None:
    kept = Kept()
    answer = await heard(kept, Script.of(reply(text("one two three"))), until=4)
    await answer.cut_off(keep=True)
    told = next(line for line in kept.lines if line["type"] == "assistant")
    assert (told["message"]["content"][0]["text"], told["aborted"]) == ("one two ", True)
    assert kinds(kept)[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert not answer.whole


async def test_unfinished_text_is_not_sent_if_it_is_discarded() -> None:
    kept = Kept()
    answer = await heard(kept, Script.of(reply(text("one two three"))), until=4)
    await answer.cut_off(keep=False)
    assert "assistant" not in kinds(kept)
    assert kept.lines[-1]["abandoned_blocks"]["from_block_index"] == 0
    assert answer.blocks == []


async def test_an_unfinished_call_is_not_closed() -> None:
    kept = Kept()
    answer = await heard(kept, Script.of(reply(tool_use("Bash", command="ls -l; pwd"))), until=3)
    await answer.cut_off(keep=False)
    assert kinds(kept)[-2:] == ["content_block_delta", "message_stop"]


async def test_usage_is_that_of_the_last_event() -> None:
    answer = await heard(Kept(), Script.of(reply(text("x"), usage={"output_tokens": 77})))
    assert (answer.usage["output_tokens"], answer.usage["input_tokens"]) == (77, 100)
