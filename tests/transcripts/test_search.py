"""handrail.transcripts.search: what was said is found, and where."""

import os
from pathlib import Path

import pytest

from handrail.transcripts import search_sessions
from tests.transcripts.conversation import CWD, Conversation


def found(home: Path, query: str) -> list[tuple[str, str]]:
    return [(hit.role, hit.snippet) for hit in search_sessions(query, config_home=home)]


def test_messages_are_found_ignoring_case(tmp_path: Path):
    talk = Conversation(tmp_path)
    asked = talk.user("Why do the BEANS wilt?")
    talk.assistant("Too much sun on the beans.")
    talk.assistant("Nothing else.")
    hits = list(search_sessions("beans", config_home=tmp_path))
    assert [(hit.role, hit.snippet) for hit in hits] == [
        ("user", "Why do the BEANS wilt?"),
        ("assistant", "Too much sun on the beans."),
    ]
    assert (hits[0].session.id, hits[0].uuid, hits[0].timestamp) == (talk.id, asked, "2026-03-01T10:00:01.000Z")


def test_a_snippet_is_one_line_around_the_first_occurrence(tmp_path: Path):
    Conversation(tmp_path).user("a " * 200 + "here\nit is: needle" + " b" * 200 + " needle")
    ((_, snippet),) = found(tmp_path, "needle")
    assert snippet.startswith("…")
    assert snippet.endswith("…")
    assert "here it is: needle b b" in snippet
    assert len(snippet) < 140


@pytest.mark.parametrize("query", ['say "hi"', "back\\slash", "two\nlines", "größe", "\U0001f600", "a/b", "ſ", "<tag>"])
def test_text_that_json_escapes_is_found(tmp_path: Path, query: str):
    talk = Conversation(tmp_path)
    talk.user(f"before {query} after")
    talk.line(talk.path.read_bytes().replace(b"/", rb"\/").replace(b"<", rb"\u003c"))
    assert len(found(tmp_path, query)) == 2


def test_query_is_not_a_pattern(tmp_path: Path):
    Conversation(tmp_path).user("price: 5.00 (net)")
    assert len(found(tmp_path, "5.00 (net)")) == 1
    assert found(tmp_path, "5.00 .net.") == []


def test_tool_output_bookkeeping_and_meta_are_not_searched(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("hello")
    talk.note("last-prompt", lastPrompt="needle")
    talk.user("needle", isMeta=True)
    talk.assistant({"type": "tool_use", "id": "t", "name": "x", "input": {"a": "needle"}})
    talk.user([{"type": "tool_result", "tool_use_id": "t", "content": "needle"}])
    talk.line(b'{"type":"user","uuid":"u","message":{"role":"user","content":"needle')
    assert found(tmp_path, "needle") == []


def test_newer_sessions_come_first_and_a_limit_ends_the_search(tmp_path: Path):
    for age in (1, 3, 2):
        talk = Conversation(tmp_path)
        talk.user(f"needle {age}")
        os.utime(talk.path, (age, age))
    assert [text for _, text in found(tmp_path, "needle")] == ["needle 3", "needle 2", "needle 1"]
    assert [hit.snippet for hit in search_sessions("needle", limit=1, config_home=tmp_path)] == ["needle 3"]
    assert list(search_sessions("needle", limit=0, config_home=tmp_path)) == []


def test_a_search_can_stay_in_one_directory(tmp_path: Path):
    Conversation(tmp_path).user("needle here")
    Conversation(tmp_path, project="-other").user("needle there")
    assert [hit.snippet for hit in search_sessions("needle", CWD, config_home=tmp_path)] == ["needle here"]


def test_nothing_is_found_for_an_empty_query(tmp_path: Path):
    Conversation(tmp_path).user("hello")
    assert found(tmp_path, "  ") == []


def test_session_deleted_while_searching_is_skipped(tmp_path: Path):
    for age in (1, 2):
        talk = Conversation(tmp_path)
        talk.user(f"needle {age}")
        os.utime(talk.path, (age, age))
    hits = search_sessions("needle", config_home=tmp_path)
    newest = next(hits)
    for path in newest.session.path.parent.iterdir():
        path.unlink()
    assert list(hits) == []
