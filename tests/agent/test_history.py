from __future__ import annotations

from typing import Any

from handrail.agent.history import History, size_of, text_block
from tests.agent.stage import assert_calls_are_answered


def call(id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "Read", "input": {}}


def result(id: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": "done"}


def said(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def test_what_one_side_says_twice_is_one_message() -> None:
    history = History()
    history.add_user("a")
    history.add_user("b")
    history.add_assistant([text_block("c")])
    history.add_assistant([text_block("d")])
    assert [len(message["content"]) for message in history.messages] == [2, 2]


def test_nothing_said_is_no_message() -> None:
    history = History()
    history.add_user([])
    history.add_assistant([text_block("")])
    assert history.messages == []


def test_a_message_that_was_handed_out_never_changes() -> None:
    history = History()
    history.add_user("a")
    held = history.messages[0]
    history.add_user("b")
    assert held == said("user", text_block("a"))


def test_every_call_at_the_end_gets_a_result() -> None:
    history = History([said("user", text_block("go")), said("assistant", call("1"), call("2"))])
    assert sorted(history.answer_open_calls("gone")) == ["1", "2"]
    assert_calls_are_answered(history.messages)


def test_a_call_beside_one_that_has_a_result_gets_one_too() -> None:
    history = History([said("assistant", call("1"), call("2")), said("user", result("1"))])
    assert history.answer_open_calls("gone") == ["2"]
    assert_calls_are_answered(history.messages)


def test_calls_that_all_have_results_are_left_alone() -> None:
    history = History([said("assistant", call("1")), said("user", result("1"))])
    assert history.answer_open_calls("gone") == []


def test_the_estimate_grows_with_what_was_added_since_the_count() -> None:
    history = History()
    history.add_user("x" * 300)
    history.note_tokens(1000)
    assert history.estimate == 1000
    history.add_user("x" * 3000)
    assert 1800 < history.estimate < 2200


def test_images_count_as_images_and_not_as_their_letters() -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "A" * 900_000}}
    assert size_of([said("user", image)]) < 5000
    assert size_of([said("user", {"type": "tool_result", "tool_use_id": "1", "content": [image]})]) < 5000
