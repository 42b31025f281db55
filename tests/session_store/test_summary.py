"""Summaries of sessions from their entries."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.session_store import fold_session_summary

KEY: Any = {"project_key": "p", "session_id": "s"}


def user(content: object, **fields: Any) -> Any:
    return {"type": "user", "message": {"role": "user", "content": content}, **fields}


def data(*entries: Any) -> dict[str, Any]:
    return fold_session_summary(None, KEY, list(entries))["data"]


def test_summary_of_nothing_is_empty():
    assert fold_session_summary(None, KEY, []) == {"session_id": "s", "mtime": 0, "data": {}}


def test_first_values_stay_and_last_values_win():
    first = user("one", cwd="/a", gitBranch="x", timestamp="2026-01-01T00:00:00.250Z")
    last = user("two", cwd="/b", gitBranch="y", timestamp="2026-01-02T00:00:00Z", isSidechain=True)
    before = fold_session_summary(None, KEY, [first])
    after = fold_session_summary({**before, "mtime": 7}, KEY, [last])
    assert before["data"]["git_branch"] == "x"
    assert after == {
        "session_id": "s",
        "mtime": 7,
        "data": {
            "is_sidechain": False,
            "created_at": 1767225600250,
            "cwd": "/a",
            "first_prompt": "one",
            "first_prompt_locked": True,
            "git_branch": "y",
        },
    }


@pytest.mark.parametrize(
    ("entry", "prompt"),
    [
        (user("  two\nlines "), "two lines"),
        (user([{"type": "image"}, {"type": "text", "text": "words"}]), "words"),
        (user([{"type": "text", "text": " "}, {"type": "text", "text": "later"}]), "later"),
        (user("y" * 300), "y" * 200 + "…"),
        (user("meta", isMeta=True), None),
        (user("summary", isCompactSummary=True), None),
        (user([{"type": "tool_result"}, {"type": "text", "text": "of a tool"}]), None),
        (user("<local-command-stdout>x</local-command-stdout>"), None),
        (user("[Request interrupted by user]"), None),
        (user(None), None),
        ({"type": "user", "message": "text"}, None),
        ({"type": "assistant", "message": {"content": "answer"}}, None),
    ],
)
def test_first_prompt_is_the_first_text_of_a_person(entry: Any, prompt: str | None):
    assert data(entry).get("first_prompt") == prompt
    assert data(entry, user("next"))["first_prompt"] == (prompt or "next")


def test_slash_command_stands_in_for_a_prompt():
    assert data(user("<command-name> /clear </command-name>"))["command_fallback"] == "/clear"


def test_empty_tag_removes_the_tag():
    tagged: Any = {"type": "tag", "tag": "blue"}
    assert data(tagged)["tag"] == "blue"
    assert "tag" not in data(tagged, {"type": "tag", "tag": ""})
    assert "tag" not in data({"type": "tag", "tag": 5}, {"type": "user", "tag": "not a tag entry"})


def test_values_of_another_type_are_ignored():
    strange: Any = {"type": "user", "cwd": 1, "gitBranch": [], "timestamp": 5, "customTitle": {}, "message": []}
    assert data(strange, {"type": "x", "timestamp": "nonsense"}) == {"is_sidechain": False}


def test_previous_summary_is_not_changed():
    before = fold_session_summary(None, KEY, [user("one")])
    kept = dict(before["data"])
    fold_session_summary(before, KEY, [{"type": "custom-title", "customTitle": "T"}])  # type: ignore[typeddict-unknown-key]
    assert before["data"] == kept
