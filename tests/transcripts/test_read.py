"""handrail.transcripts.read: a conversation in order, and damage counted instead of raised."""

import os
from pathlib import Path

import pytest

from handrail.transcripts import Damage, SessionNotFound, TranscriptError, read_session
from handrail.transcripts import read as read_module
from tests.transcripts.conversation import Conversation


def said(path: Path) -> list[str]:
    return [entry.text() for entry in read_session(path).messages]


def test_a_session_is_read_by_id_and_by_path(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.note("queue-operation", operation="enqueue", content="hello")
    first = talk.user("hello")
    talk.entry("attachment", attachment={"type": "date"})
    talk.assistant("hi")
    by_id = read_session(talk.id, config_home=tmp_path)
    assert by_id == read_session(talk.path)
    assert [(entry.type, entry.text()) for entry in by_id.messages] == [("user", "hello"), ("assistant", "hi")]
    assert (by_id.session_id, by_id.damage, by_id.messages[0].uuid) == (talk.id, Damage(), first)


def test_entries_keep_their_bytes(tmp_path: Path):
    talk = Conversation(tmp_path)
    line = b'{"uuid":"a", "type":"user" ,"future":[1.50,"\\u00e9"],"message":{"content":"x"}}'
    talk.line(line + b"\r\n")
    assert [entry.raw for entry in read_session(talk.path).messages] == [line]


def test_other_types_of_entries_on_request(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("hello")
    talk.entry("system", subtype="api_error")
    talk.assistant("hi")
    types = [entry.type for entry in read_session(talk.path, types={"user", "assistant", "system"}).messages]
    assert types == ["user", "system", "assistant"]


def test_meta_entries_are_left_out(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("caveat", isMeta=True)
    talk.user("hello")
    assert said(talk.path) == ["hello"]


def test_parallel_tools_are_read_whole(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("go")
    one = talk.call("c1", "m")
    two = talk.call("c2", "m")
    talk.result("c2", two, "second")
    talk.result("c1", one, "first")
    talk.assistant("both done")
    blocks = [entry.blocks()[0] for entry in read_session(talk.path).messages]
    assert [block.get("id") or block.get("tool_use_id") for block in blocks] == [None, "c1", "c2", "c2", "c1", None]


def test_sidechains_in_the_same_file_are_separate(tmp_path: Path):
    talk = Conversation(tmp_path)
    asked = talk.user("hello")
    talk.user("inner question", parent=None, isSidechain=True)
    talk.assistant("inner answer", isSidechain=True)
    talk.assistant("hi", parent=asked)
    transcript = read_session(talk.path)
    assert [entry.text() for entry in transcript.messages] == ["hello", "hi"]
    assert [[entry.text() for entry in side] for side in transcript.sidechains] == [["inner question", "inner answer"]]


def test_compaction_hides_the_past_only_when_asked(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("old")
    before = talk.assistant("old answer")
    talk.entry("system", parent=None, subtype="compact_boundary", logicalParentUuid=before)
    talk.user("summary", isCompactSummary=True)
    talk.user("new")
    assert said(talk.path) == ["old", "old answer", "summary", "new"]
    assert [entry.text() for entry in read_session(talk.path, since_compaction=True).messages] == ["summary", "new"]


def test_a_truncated_last_line_is_skipped_and_counted(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("hello")
    talk.line(b'{"type":"assistant","uuid":"x","mess')
    transcript = read_session(talk.path)
    assert ([entry.text() for entry in transcript.messages], transcript.damage) == (["hello"], Damage(truncated=1))


def test_a_last_line_that_only_lacks_its_newline_is_whole(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("hello")
    with talk.path.open("rb+") as stream:
        stream.truncate(talk.path.stat().st_size - 1)
    assert (said(talk.path), read_session(talk.path).damage) == (["hello"], Damage())


@pytest.mark.parametrize(
    "line", [b"\x00" * 500, b"{oops", b"[]", b'"x"', b"[" * 50_000, b'{"type":5}', b'{"a":1}{"b":2}']
)
def test_a_corrupt_line_in_the_middle_is_skipped_and_counted(tmp_path: Path, line: bytes):
    talk = Conversation(tmp_path)
    talk.user("before")
    talk.line(line + b"\n")
    talk.user("after")
    assert (said(talk.path), read_session(talk.path).damage) == (["before", "after"], Damage(corrupt=1))


def test_lost_line_does_not_lose_earlier_messages(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("one")
    talk.assistant("two")
    lines = talk.path.read_bytes().splitlines(keepends=True)
    talk.user("three")
    talk.assistant("four")
    damaged = talk.path.read_bytes().replace(lines[1], b'{"cut": \n')
    talk.path.write_bytes(damaged)
    assert (said(talk.path), read_session(talk.path).damage) == (["one", "three", "four"], Damage(corrupt=1, gaps=1))


def test_a_cycle_of_parents_ends_and_is_counted(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("a", parent="00000000-0000-4000-8000-000000000003")
    talk.assistant("b")
    talk.user("c")
    assert (said(talk.path), read_session(talk.path).damage) == (["a", "b", "c"], Damage(cycles=1))


def test_lone_surrogates_are_repaired_and_counted(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("whole")
    talk.line(
        rb'{"type":"user","uuid":"x","parentUuid":"%s","message":{"content":"half \ud83d"}}' % str(talk.last).encode()
    )
    talk.line(b"\n")
    assert (said(talk.path), read_session(talk.path).damage) == (["whole", "half \ufffd"], Damage(repaired=1))


def test_a_line_separator_inside_a_text_does_not_split_the_line(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("one\u2028two\u0085three")
    assert (said(talk.path), read_session(talk.path).damage) == (["one\u2028two\u0085three"], Damage())


def test_line_above_the_limit_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(read_module, "LINE_LIMIT", 1000)
    talk = Conversation(tmp_path)
    talk.user("before")
    talk.user("x" * 5_000_000, parent=None)
    talk.last = "00000000-0000-4000-8000-000000000001"
    talk.user("after")
    assert (said(talk.path), read_session(talk.path).damage) == (["before", "after"], Damage(oversized=1))


def test_the_counts_of_damage_add_up():
    assert (Damage().total, Damage(truncated=1, corrupt=2, cycles=3).total) == (0, 6)


def test_an_empty_file_is_an_empty_conversation(tmp_path: Path):
    assert said(Conversation(tmp_path).path) == []


def test_missing_file_and_folder_are_errors(tmp_path: Path):
    with pytest.raises(SessionNotFound, match="does not exist"):
        read_session(tmp_path / "none.jsonl")
    with pytest.raises(TranscriptError, match="not a regular file"):
        read_session(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_file_without_permission_is_an_error(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.path.chmod(0)
    with pytest.raises(TranscriptError, match="Permission denied"):
        read_session(talk.path)
