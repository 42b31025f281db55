from __future__ import annotations

from pathlib import Path

import pytest

from handrail.agent.blocks import text_block
from handrail.agent.conversation.compaction import FULL, fitted
from handrail.agent.conversation.history import size_of
from handrail.agent.models.script import Block, Script, When, hang, http_error, reply, text, tool_use
from tests.agent.stage import assert_calls_are_answered, hooks_for, stage

WINDOW = 20_000
SMALL = {"HANDRAIL_CONTEXT_WINDOW": str(WINDOW)}
SUMMARY = reply(text("<summary>We counted.</summary>"), when=When(prompt="Write a summary"))


async def test_a_long_conversation_stays_below_the_window(tmp_path: Path) -> None:
    script = Script(replies=(SUMMARY,), afterwards=reply(text("I see.")))
    async with stage(tmp_path, script, environment=SMALL, counts=True) as host:
        for _ in range(30):
            await host.turn("word " * 1500)
        assert host.of("system", "compact_boundary")
        for asked in host.model.asked:
            assert size_of(asked["messages"]) < WINDOW
            assert_calls_are_answered(asked["messages"])


async def test_large_results_stay_below_the_window(tmp_path: Path) -> None:
    command = "head -c 20000 /dev/zero | tr '\\0' x"
    script = Script(
        replies=(SUMMARY, reply(tool_use("Bash", command=command), times=8)), afterwards=reply(text("done"))
    )
    async with stage(tmp_path, script, "--dangerously-skip-permissions", environment=SMALL, counts=True) as host:
        assert (await host.turn("go"))["result"] == "done"
        assert host.of("system", "compact_boundary")
        for asked in host.model.asked:
            assert size_of(asked["messages"]) < WINDOW
            assert_calls_are_answered(asked["messages"])


async def test_the_last_messages_are_kept(tmp_path: Path) -> None:
    script = Script(replies=(SUMMARY,), afterwards=reply(text("I see.")))
    async with stage(tmp_path, script, environment=SMALL) as host:
        for number in range(4):
            await host.turn(f"number {number}")
        host.engine.history.note_tokens(int(WINDOW * FULL))
        await host.turn("the newest")
        shown = str(host.model.asked[-1]["messages"])
        assert all(kept in shown for kept in ("We counted.", "the newest", "number 3"))
        assert "number 0" not in shown
        assert host.of("system", "compact_boundary")[0]["compact_metadata"]["trigger"] == "auto"


@pytest.mark.parametrize(
    ("model", "used", "compacted"),
    [
        ("claude-sonnet-4-5", 166_000, False),
        ("claude-sonnet-4-5", 168_000, True),
        ("claude-opus-5-5", 966_000, False),
        ("claude-opus-5-5", 968_000, True),
    ],
)
async def test_a_conversation_is_compacted_while_an_answer_still_fits(
    tmp_path: Path, model: str, used: int, compacted: bool
) -> None:
    script = Script(replies=(SUMMARY,), afterwards=reply(text("I see.")))
    async with stage(tmp_path, script, "--model", model) as host:
        await host.turn("one")
        reported = (await host.control("get_context_usage"))["response"]["autoCompactThreshold"]
        assert (used >= reported) is compacted
        host.engine.history.note_tokens(used)
        await host.turn("two")
        assert bool(host.of("system", "compact_boundary")) is compacted


async def test_a_short_conversation_is_not_compacted(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("a"), text("b")), environment=SMALL) as host:
        await host.turn("one")
        await host.turn("two")
        assert not host.of("system", "compact_boundary")


async def test_manual_compaction_keeps_only_the_summary(tmp_path: Path) -> None:
    script = Script(replies=(SUMMARY,), afterwards=reply(text("I see.")))
    async with stage(tmp_path, script) as host:
        await host.turn("one")
        await host.turn("/compact above all the figures")
        assert "above all the figures" in str(host.model.asked[-1]["messages"][-1])
        await host.turn("two")
        assert len(host.model.asked[-1]["messages"]) == 1
        assert "We counted." in str(host.model.asked[-1]["messages"])
        assert "one" not in [block["text"] for block in host.model.asked[-1]["messages"][0]["content"]]


async def test_hooks_run_before_and_after_a_compaction(tmp_path: Path) -> None:
    script = Script(replies=(SUMMARY,), afterwards=reply(text("I see.")))
    async with stage(tmp_path, script) as host:
        host.answers["hook_callback"] = lambda request: {}
        await host.control("initialize", hooks=hooks_for("PreCompact", "PostCompact"))
        await host.turn("one")
        await host.turn("/compact")
        inputs = [request["input"] for request in host.requests("hook_callback")]
        assert [given["hook_event_name"] for given in inputs] == ["PreCompact", "PostCompact"]
        assert inputs[1]["compact_summary"] == "We counted."


async def test_a_failed_summary_leaves_the_conversation_unchanged(tmp_path: Path) -> None:
    failing = http_error(400, message="no", when=When(prompt="Write a summary"))
    async with stage(tmp_path, Script(replies=(failing,), afterwards=reply(text("I see.")))) as host:
        await host.turn("one")
        await host.turn("/compact")
        assert host.of("system", "status")[-1]["compact_result"] == "failed"
        await host.turn("two")
        assert "one" in str(host.model.asked[-1]["messages"][0])


@pytest.mark.parametrize(
    "said", [text(" "), text("<summary> </summary>"), text("I cannot.\n<summary>"), tool_use("Bash", command="ls")]
)
async def test_an_empty_summary_never_replaces_the_conversation(tmp_path: Path, said: Block) -> None:
    empty = reply(said, when=When(prompt="Write a summary"))
    async with stage(tmp_path, Script(replies=(empty,), afterwards=reply(text("I see.")))) as host:
        await host.turn("one")
        await host.turn("/compact")
        assert host.of("system", "status")[-1]["compact_result"] == "failed"
        assert "no summary" in host.of("system", "status")[-1]["compact_error"]
        await host.turn("two")
        assert "one" in str(host.model.asked[-1]["messages"][0])


async def test_a_summary_without_its_tags_is_used(tmp_path: Path) -> None:
    plain = reply(text("We counted."), when=When(prompt="Write a summary"))
    async with stage(tmp_path, Script(replies=(plain,), afterwards=reply(text("I see.")))) as host:
        await host.turn("one")
        await host.turn("/compact")
        await host.turn("two")
        assert "We counted." in str(host.model.asked[-1]["messages"])


async def test_an_interrupted_compaction_leaves_the_conversation_unchanged(tmp_path: Path) -> None:
    slow = reply(hang(), text("never"), when=When(prompt="Write a summary"), times=1)
    async with stage(tmp_path, Script(replies=(slow,), afterwards=reply(text("I see."))), environment=SMALL) as host:
        for number in range(3):
            await host.turn(f"number {number}")
        host.engine.history.note_tokens(WINDOW)
        await host.say("more")
        await host.until_line("system", "status")
        await host.control("interrupt")
        assert (await host.result(3))["is_error"]
        assert host.of("system", "status")[-1]["status"] is None
        assert "number 0" in str(host.engine.history.messages)


async def test_an_interrupted_compact_command_has_a_result(tmp_path: Path) -> None:
    slow = reply(hang(), text("never"), when=When(prompt="Write a summary"), times=1)
    async with stage(tmp_path, Script(replies=(slow,), afterwards=reply(text("I see.")))) as host:
        await host.turn("one")
        await host.say("/compact", uuid="7a1c9f0e-6f5d-4f7e-9d52-1d0b6a3c1e11")
        await host.until_line("system", "status")
        await host.control("interrupt")
        result = await host.result(1)
        assert (result["subtype"], result["terminal_reason"]) == ("error_during_execution", "aborted_streaming")
        assert host.of("system", "status")[-1]["compact_error"] == "interrupted"
        assert (await host.turn("two"))["result"] == "I see."
        assert "one" in str(host.model.asked[-1]["messages"][0])
        assert host.of("command_lifecycle")[-1]["state"] == "completed"


TOO_LONG = http_error(400, message="prompt is too long: 300000 tokens > 200000 maximum", times=1)


async def test_a_conversation_refused_as_too_long_is_compacted(tmp_path: Path) -> None:
    early = [reply(text("I see."), times=1)] * 3
    script = Script(replies=(SUMMARY, *early, TOO_LONG), afterwards=reply(text("done")))
    async with stage(tmp_path, script) as host:
        for number in range(3):
            await host.turn(f"number {number} " + "word " * 2000)
        assert (await host.turn("the newest"))["result"] == "done"
        assert len(host.of("system", "compact_boundary")) == 1
        assert "We counted." in str(host.model.asked[-1]["messages"])
        assert "the newest" in str(host.model.asked[-1]["messages"][-1])
        assert_calls_are_answered(host.model.asked[-1]["messages"])


async def test_a_conversation_still_too_long_is_an_error(tmp_path: Path) -> None:
    early = [reply(text("I see."), times=1)] * 3
    script = Script(replies=(SUMMARY, *early), afterwards=http_error(400, message="prompt is too long"))
    async with stage(tmp_path, script) as host:
        for number in range(3):
            await host.turn(f"number {number}")
        assert (await host.turn("the newest"))["terminal_reason"] == "prompt_too_long"
        assert len(host.of("system", "compact_boundary")) == 1


@pytest.mark.parametrize("window", ["", "many", "-5", "1e3"])
async def test_an_invalid_window_size_is_ignored(tmp_path: Path, window: str) -> None:
    async with stage(tmp_path, Script.of(text("a")), environment={"HANDRAIL_CONTEXT_WINDOW": window}) as host:
        assert (await host.turn("go"))["result"] == "a"


def test_only_long_texts_are_shortened() -> None:
    result = {"type": "tool_result", "tool_use_id": "1", "content": [text_block("y" * 60_000)]}
    messages = [{"role": "user", "content": [text_block("short"), text_block("x" * 90_000), result]}]
    small = fitted(messages, 5000)
    assert size_of(small) <= 5000
    assert small[0]["content"][0] == text_block("short")
    assert size_of(messages) > 40_000
    assert fitted(small, 5000) is small
