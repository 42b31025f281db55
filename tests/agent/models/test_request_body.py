"""handrail.agent.models.request_body: what is sent, and that a history is encoded once."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any

from handrail.agent.models.base import ModelRequest
from handrail.agent.models.request_body import BodyWriter

MARK = {"type": "ephemeral"}


def body(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return json.loads(BodyWriter().message_body(ModelRequest("m", messages, **fields), stream=True))


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def test_the_last_system_block_the_last_tool_and_the_last_message_are_marked():
    sent = body(
        user("one"),
        {"role": "assistant", "content": [{"type": "text", "text": "two"}]},
        user([{"type": "text", "text": "three"}, {"type": "text", "text": "four"}]),
        system=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        tools=[{"name": "A"}, {"name": "B"}],
    )
    assert sent["system"] == [{"type": "text", "text": "a"}, {"type": "text", "text": "b", "cache_control": MARK}]
    assert sent["tools"] == [{"name": "A"}, {"name": "B", "cache_control": MARK}]
    assert json.dumps(sent["messages"]).count("cache_control") == 1
    assert sent["messages"][2]["content"][1] == {"type": "text", "text": "four", "cache_control": MARK}


def test_a_last_message_of_plain_text_becomes_a_marked_block():
    assert body(user("hi"))["messages"] == [user([{"type": "text", "text": "hi", "cache_control": MARK}])]


def test_thinking_and_empty_text_carry_no_mark():
    content = [
        {"type": "text", "text": "x"},
        {"type": "thinking", "thinking": "t", "signature": "s"},
        {"type": "text", "text": ""},
    ]
    sent = body({"role": "assistant", "content": content})["messages"][0]["content"]
    assert sent == [{**content[0], "cache_control": MARK}, *content[1:]]


def test_effort_thinking_and_more_go_where_the_api_wants_them():
    sent = body(
        user("hi"),
        max_tokens=9,
        thinking={"type": "adaptive"},
        effort="high",
        extra={"output_config": {"format": {"type": "json_schema"}}, "metadata": {"user_id": "u"}},
    )
    assert sent["max_tokens"] == 9
    assert sent["thinking"] == {"type": "adaptive"}
    assert sent["output_config"] == {"format": {"type": "json_schema"}, "effort": "high"}
    assert (sent["metadata"], sent["stream"], sent["model"]) == ({"user_id": "u"}, True, "m")


def test_what_is_not_set_is_not_sent():
    assert set(body(user("hi"))) == {"model", "max_tokens", "stream", "messages"}


def test_counting_sends_no_limit_of_output():
    sent = json.loads(BodyWriter().count_body(ModelRequest("m", [user("hi")], thinking={"type": "adaptive"})))
    assert set(sent) == {"model", "messages", "thinking"}


class Counted(Sequence[dict[str, Any]]):
    """A history that is no list."""

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self.messages = messages

    def __getitem__(self, index: Any) -> Any:
        return self.messages[index]

    def __len__(self) -> int:
        return len(self.messages)


def test_an_earlier_message_is_encoded_once_and_never_again():
    writer = BodyWriter()
    history: list[dict[str, Any]] = [user("first")]
    for number in range(5):
        history.append(user(f"turn {number}"))
        writer.message_body(ModelRequest("m", Counted(history)), stream=True)
    encoded = writer._history(history[0])  # pyright: ignore[reportPrivateUsage]
    before = list(map(id, encoded.encoded(history)))
    history.append(user("one more"))
    after = list(map(id, encoded.encoded(history)))
    assert after[: len(before)] == before
    assert len(after) == len(before) + 1


def test_a_last_message_that_grows_is_sent_as_it_is_then():
    writer, history = BodyWriter(), [user("one"), user([{"type": "text", "text": "two"}])]
    writer.message_body(ModelRequest("m", history), stream=True)
    history[1]["content"].append({"type": "text", "text": "more"})
    history.append(user("three"))
    sent = json.loads(writer.message_body(ModelRequest("m", history), stream=True))
    assert sent["messages"][1] == history[1]


def test_a_history_that_was_cut_back_or_changed_is_sent_as_it_stands():
    writer, history = BodyWriter(), [user(str(number)) for number in range(6)]
    writer.message_body(ModelRequest("m", history), stream=True)
    history[3] = user("another")
    changed = json.loads(writer.message_body(ModelRequest("m", history), stream=True))
    del history[3:]
    shorter = json.loads(writer.message_body(ModelRequest("m", history), stream=True))
    assert [message["content"] for message in changed["messages"][:5]] == ["0", "1", "2", "another", "4"]
    assert len(shorter["messages"]) == 3


def test_many_histories_at_once_keep_apart():
    writer = BodyWriter()
    histories = [[user(f"{name} {number}") for number in range(3)] for name in range(20)]
    for _ in range(2):
        for history in histories:
            sent = json.loads(writer.message_body(ModelRequest("m", history), stream=True))
            assert sent["messages"][:2] == history[:2]


def test_nothing_that_was_given_is_changed():
    history, system, tools = (
        [user("a"), user([{"type": "text", "text": "b"}])],
        [{"type": "text", "text": "s"}],
        [{"name": "T"}],
    )
    before = copy.deepcopy((history, system, tools))
    body(*history, system=system, tools=tools)
    assert (history, system, tools) == before
