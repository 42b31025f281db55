from __future__ import annotations

from typing import Any

from handrail.agent.blocks import text_block
from handrail.agent.conversation.history import History, size_of
from tests.agent.stage import assert_calls_are_answered


def call(id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "Read", "input": {}}


def result(id: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": "done"}


def said(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def test_consecutive_messages_of_one_role_are_merged() -> None:
    history = History()
    history.add_user("a")
    history.add_user("b")
    history.add_assistant([text_block("c")])
    history.add_assistant([text_block("d")])
    assert [len(message["content"]) for message in history.messages] == [2, 2]


def test_empty_content_adds_nothing() -> None:
    history = History()
    history.add_user([])
    history.add_assistant([text_block("")])
    assert history.messages == []


def test_a_returned_message_never_changes() -> None:
    history = History()
    history.add_user("a")
    held = history.messages[0]
    history.add_user("b")
    assert held == said("user", text_block("a"))


def test_open_calls_get_a_result() -> None:
    history = History([said("user", text_block("go")), said("assistant", call("1"), call("2"))])
    assert sorted(history.answer_open_calls("gone")) == ["1", "2"]
    assert_calls_are_answered(history.messages)


def test_an_open_call_beside_a_finished_one_gets_a_result() -> None:
    history = History([said("assistant", call("1"), call("2")), said("user", result("1"))])
    assert history.answer_open_calls("gone") == ["2"]
    assert_calls_are_answered(history.messages)


def test_finished_calls_are_not_changed() -> None:
    history = History([said("assistant", call("1")), said("user", result("1"))])
    assert history.answer_open_calls("gone") == []


def test_the_estimate_includes_messages_added_since_the_count() -> None:
    history = History()
    history.add_user("x" * 300)
    history.note_tokens(1000)
    assert history.estimate == 1000
    history.add_user("x" * 3000)
    assert 1800 < history.estimate < 2200


def test_images_have_a_fixed_size() -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "A" * 900_000}}
    assert size_of([said("user", image)]) < 5000
    assert size_of([said("user", {"type": "tool_result", "tool_use_id": "1", "content": [image]})]) < 5000
