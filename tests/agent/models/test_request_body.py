"""handrail.agent.models.request_body: the body of requests, and that a history is encoded once."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any

import pytest

from handrail.agent.models.base import ModelRequest
from handrail.agent.models.request_body import BodyWriter

MARK = {"type": "ephemeral"}


def body(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return json.loads(BodyWriter().message_body(ModelRequest("m", messages, **fields), stream=True))


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def plain(messages: Any) -> Any:
    """The texts of messages, whether they carry marks or not."""
    contents = [message["content"] for message in messages]
    return [content if isinstance(content, str) else content[0]["text"] for content in contents]


def test_marks_are_at_the_end_of_the_system_prompt_and_of_the_last_user_messages():
    sent = body(
        user("one"),
        {"role": "assistant", "content": [{"type": "text", "text": "two"}]},
        user([{"type": "text", "text": "three"}, {"type": "text", "text": "four"}]),
        system=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        tools=[{"name": "A"}, {"name": "B"}],
    )
    assert sent["system"] == [{"type": "text", "text": name, "cache_control": MARK} for name in "ab"]
    assert sent["tools"] == [{"name": "A"}, {"name": "B"}]
    assert json.dumps(sent).count("cache_control") == 4
    assert sent["messages"][0]["content"] == [{"type": "text", "text": "one", "cache_control": MARK}]
    assert sent["messages"][2]["content"][1] == {"type": "text", "text": "four", "cache_control": MARK}


def test_without_a_system_prompt_the_last_tool_is_marked():
    sent = body(user("one"), tools=[{"name": "A"}, {"name": "B"}])
    assert sent["tools"] == [{"name": "A"}, {"name": "B", "cache_control": MARK}]


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


def test_effort_thinking_and_extra_fields_are_placed_for_the_api():
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


@pytest.mark.parametrize(
    ("variable", "model", "marks"),
    [
        ("DISABLE_PROMPT_CACHING", "claude-opus-5-5", 0),
        ("DISABLE_PROMPT_CACHING_OPUS", "claude-opus-5-5", 0),
        ("DISABLE_PROMPT_CACHING_OPUS", "claude-opus-4-5[1m]", 0),
        ("DISABLE_PROMPT_CACHING_HAIKU", "claude-opus-5-5", 2),
        ("DISABLE_PROMPT_CACHING_SONNET", "m", 2),
    ],
)
def test_the_environment_turns_cache_marks_off(variable: str, model: str, marks: int):
    request = ModelRequest(model, [user("hi")], system=[{"type": "text", "text": "a"}], tools=[{"name": "A"}])
    assert BodyWriter({variable: "1"}).message_body(request, stream=True).count(b"cache_control") == marks
    assert BodyWriter({variable: "0"}).message_body(request, stream=True).count(b"cache_control") == 2


def test_extra_fields_of_the_environment_come_last_and_not_into_counts():
    writer, request = BodyWriter({}, {"max_tokens": 5, "top_k": 1}), ModelRequest("m", [user("hi")])
    sent = json.loads(writer.message_body(request, stream=True))
    assert (sent["max_tokens"], sent["top_k"]) == (5, 1)
    assert "top_k" not in json.loads(writer.count_body(request))


def test_the_long_context_suffix_is_not_sent():
    request = ModelRequest("claude-sonnet-4-5[1m]", [user("hi")])
    assert json.loads(BodyWriter().message_body(request, stream=True))["model"] == "claude-sonnet-4-5"
    assert json.loads(BodyWriter().count_body(request))["model"] == "claude-sonnet-4-5"


def test_unset_fields_are_not_sent():
    assert set(body(user("hi"))) == {"model", "max_tokens", "stream", "messages"}


def test_counting_sends_no_limit_of_output():
    sent = json.loads(BodyWriter().count_body(ModelRequest("m", [user("hi")], thinking={"type": "adaptive"})))
    assert set(sent) == {"model", "messages", "thinking"}


class Counted(Sequence[dict[str, Any]]):
    """A history that is not a list."""

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self.messages = messages

    def __getitem__(self, index: Any) -> Any:
        return self.messages[index]

    def __len__(self) -> int:
        return len(self.messages)


def test_an_earlier_message_is_encoded_once():
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


def test_a_growing_last_message_is_encoded_again():
    writer, history = BodyWriter(), [user("one"), user([{"type": "text", "text": "two"}])]
    writer.message_body(ModelRequest("m", history), stream=True)
    history[1]["content"].append({"type": "text", "text": "more"})
    history.append(user("three"))
    sent = json.loads(writer.message_body(ModelRequest("m", history), stream=True))
    assert [block["text"] for block in sent["messages"][1]["content"]] == ["two", "more"]


def test_a_changed_history_is_encoded_again():
    writer, history = BodyWriter(), [user(str(number)) for number in range(6)]
    writer.message_body(ModelRequest("m", history), stream=True)
    history[3] = user("another")
    changed = json.loads(writer.message_body(ModelRequest("m", history), stream=True))
    del history[3:]
    shorter = json.loads(writer.message_body(ModelRequest("m", history), stream=True))
    assert plain(changed["messages"][:5]) == ["0", "1", "2", "another", "4"]
    assert len(shorter["messages"]) == 3


def test_many_histories_are_kept_apart():
    writer = BodyWriter()
    histories = [[user(f"{name} {number}") for number in range(3)] for name in range(20)]
    for _ in range(2):
        for history in histories:
            sent = json.loads(writer.message_body(ModelRequest("m", history), stream=True))
            assert plain(sent["messages"]) == plain(history)


def test_the_request_is_not_changed():
    history, system, tools = (
        [user("a"), user([{"type": "text", "text": "b"}])],
        [{"type": "text", "text": "s"}],
        [{"name": "T"}],
    )
    before = copy.deepcopy((history, system, tools))
    body(*history, system=system, tools=tools)
    assert (history, system, tools) == before
