"""An earlier conversation, as it is read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.record.resumed import ENDED, Source, read, repaired
from handrail.transcripts import SessionFile, TranscriptError
from tests.agent.stage import assert_calls_are_answered

ID = "11111111-2222-4333-8444-555555555555"
CALL: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
OTHER: dict[str, Any] = {**CALL, "id": "t2"}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": [_block(part) for part in content]}


def assistant(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [_block(part) for part in content]}


def _block(part: Any) -> dict[str, Any]:
    return {"type": "text", "text": part} if isinstance(part, str) else part


def result(id: str, content: str = "ok") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content}


def missing(id: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": ENDED, "is_error": True}


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ([user("a"), assistant(CALL)], [user("a"), assistant(CALL), user(missing("t1"))]),
        (
            [user("a"), assistant(CALL), assistant(OTHER), user(result("t2"))],
            [user("a"), assistant(CALL, OTHER), user(missing("t1"), result("t2"))],
        ),
        (
            [user("a"), assistant(CALL), user("b"), assistant("c")],
            [user("a"), assistant(CALL), user(missing("t1"), "b"), assistant("c")],
        ),
        (
            [user("a"), assistant(CALL), user("note", result("t1"), result("t1"), result("t9"))],
            [user("a"), assistant(CALL), user(result("t1"), "note")],
        ),
        ([user("a"), assistant({"type": "thinking", "thinking": "x"}), user("b")], [user("a", "b")]),
        ([user("a"), assistant("x"), user(result("t9"))], [user("a"), assistant("x")]),
        (
            [user("a"), assistant(CALL), user(result("t1")), assistant(OTHER), user(result("t2"))],
            [user("a"), assistant(CALL), user(result("t1")), assistant(OTHER), user(result("t2"))],
        ),
    ],
)
def test_each_call_has_one_result_and_each_result_a_call(found: list[Any], wanted: list[Any]):
    assert repaired(found) == wanted
    assert_calls_are_answered(repaired(found))


def test_conversation_without_its_start_begins_with_the_user():
    whole = repaired([assistant("b"), user("c")])
    assert [message["role"] for message in whole] == ["user", "assistant", "user"]


def test_calls_are_answered_after_a_dropped_message():
    assert_calls_are_answered(repaired([user("a"), assistant(CALL), user(result("t9")), assistant("b")]))


def written(folder: Path, *entries: dict[str, Any]) -> Source:
    file = SessionFile(folder.resolve(), "-p", ID)
    file.path.parent.mkdir(parents=True)
    file.path.write_text("".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in entries))
    return Source(file.root, file.path, ID, file)


def entry(uuid: str, parent: str | None, type: str, content: Any, **fields: Any) -> dict[str, Any]:
    message = {"role": type, "content": content, **({"id": f"m-{uuid}"} if type == "assistant" else {})}
    return {"type": type, "uuid": uuid, "parentUuid": parent, "sessionId": ID, "message": message, **fields}


TALK = (
    entry("u1", None, "user", "one"),
    entry("a1", "u1", "assistant", [_block("first")]),
    entry("u2", "a1", "user", "two"),
    entry("a2", "u2", "assistant", [_block("second")]),
)
BOUNDARY = {
    "type": "system",
    "subtype": "compact_boundary",
    "uuid": "b",
    "parentUuid": None,
    "logicalParentUuid": "a2",
    "compactMetadata": {"trigger": "auto", "keptMessages": 2},
}
SUMMARY = entry("s", "b", "user", "summary", isCompactSummary=True)


def test_compacted_session_shows_summary_kept_and_later_messages(tmp_path: Path):
    file = written(tmp_path, *TALK, BOUNDARY, SUMMARY, entry("a3", "s", "assistant", [_block("third")]))
    assert read(file).messages == [user("summary", "two"), assistant("second", "third")]


def test_boundary_without_kept_messages_shows_the_summary_alone(tmp_path: Path):
    file = written(tmp_path, *TALK, {**BOUNDARY, "compactMetadata": {"trigger": "manual"}}, SUMMARY)
    assert read(file).messages == [user("summary")]


def test_resume_may_end_before_a_compaction(tmp_path: Path):
    resumed = read(written(tmp_path, *TALK, BOUNDARY, SUMMARY), at="a1")
    assert (resumed.messages, resumed.last) == ([user("one"), assistant("first")], "a1")


def test_conversation_ends_where_its_last_writer_ended(tmp_path: Path):
    leaf = {"type": "last-prompt", "lastPrompt": "one", "leafUuid": "a1", "sessionId": ID}
    assert read(written(tmp_path / "1", *TALK, leaf)).last == "a1"
    assert read(written(tmp_path / "2", *TALK[:2], leaf, *TALK[2:])).last == "a2"
    assert read(written(tmp_path / "3", *TALK, {**leaf, "leafUuid": "nowhere"})).last == "a2"


def test_unknown_message_is_an_error(tmp_path: Path):
    with pytest.raises(TranscriptError, match="No message found"):
        read(written(tmp_path, *TALK), at="nowhere")


def test_last_cost_and_title_count_and_lookalikes_are_ignored(tmp_path: Path):
    models = {"claude-x": {"inputTokens": 3, "costUSD": 0.5}}
    file = written(
        tmp_path,
        *TALK,
        {"type": "cost-state", "sessionId": ID, "totalCostUSD": 0.25, "modelUsage": {}},
        {"type": "custom-title", "customTitle": "old", "sessionId": ID},
        {"type": "custom-title", "customTitle": "new", "sessionId": ID},
        {"type": "cost-state", "sessionId": ID, "totalCostUSD": 0.5, "modelUsage": models},
        entry("u3", "a2", "user", "x", toolUseResult={"type": "cost-state", "totalCostUSD": 99}),
    )
    resumed = read(file)
    assert (resumed.cost, resumed.models, resumed.title) == (0.5, models, "new")


def test_synthetic_answers_and_invalid_entries_are_not_shown(tmp_path: Path):
    odd = entry("a3", "a2", "assistant", [_block("API Error")])
    odd["message"]["model"] = "<synthetic>"
    strange = entry("x", "a3", "user", {"no": "content"})
    files = {
        "type": "attachment",
        "uuid": "f",
        "parentUuid": "x",
        "attachment": {"type": "files", "content": [_block("file")]},
    }
    file = written(tmp_path, *TALK, odd, strange, files, entry("u3", "f", "user", "three"))
    assert read(file).messages == [
        user("one"),
        assistant("first"),
        user("two"),
        assistant("second"),
        user("file", "three"),
    ]
