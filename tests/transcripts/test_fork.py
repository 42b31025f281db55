"""handrail.transcripts.fork: the same conversation under a new id, whole or up to one entry."""

import json
from pathlib import Path

import pytest

from handrail.transcripts import Damage, EntryNotFound, InvalidTitle, find_session, fork_session, read_session
from handrail.transcripts.layout import check_session_id
from tests.transcripts.conversation import Conversation


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def said(home: Path, session_id: str) -> list[str]:
    return [entry.text() for entry in read_session(session_id, config_home=home).messages]


def test_fork_has_the_same_entries_with_its_session_id(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.note("mode", mode="normal")
    talk.user("hello")
    talk.entry("attachment", attachment={"type": "date"})
    talk.assistant({"type": "tool_use", "id": "t", "name": "x", "input": {"sessionId": talk.id, "n": 1.50}})
    before = talk.path.read_bytes()
    fork = fork_session(talk.id, config_home=tmp_path)
    path = find_session(fork, tmp_path).path
    chained = [entry for entry in lines(talk.path) if "uuid" in entry]
    title = {"type": "custom-title", "customTitle": "hello (fork)", "sessionId": fork}
    assert check_session_id(fork) != talk.id
    assert lines(path) == [*({**entry, "sessionId": fork} for entry in chained), title]
    assert (talk.path.read_bytes(), path.parent, path.stat().st_mode & 0o777) == (before, talk.path.parent, 0o600)


def test_values_keep_their_bytes(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.line(b'{"uuid":"a","type":"user","sessionId":"old","x":1.50, "message":{"content":"\\u00e9 x", "n":1e2}}\n')
    path = find_session(fork_session(talk.id, config_home=tmp_path), tmp_path).path
    assert b'"x":1.50,"message":{"content":"\\u00e9 x", "n":1e2}}\n' in path.read_bytes()


def test_a_fork_can_end_at_an_entry(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("one")
    two = talk.assistant("two")
    talk.user("three")
    fork = fork_session(talk.id, up_to=two, title="half", config_home=tmp_path)
    assert (said(tmp_path, fork), find_session(fork, tmp_path).title) == (["one", "two"], "half")


def test_fork_can_end_in_an_abandoned_branch(tmp_path: Path):
    talk = Conversation(tmp_path)
    one = talk.user("one")
    left = talk.assistant("left")
    talk.assistant("taken", parent=one)
    assert said(tmp_path, fork_session(talk.id, config_home=tmp_path)) == ["one", "taken"]
    assert said(tmp_path, fork_session(talk.id, up_to=left, config_home=tmp_path)) == ["one", "left"]


def test_fork_has_no_entry_after_its_end(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("go")
    begun = talk.assistant("Running.", message_id="m")
    call = talk.call("c1", "m")
    talk.result("c1", call)
    assert said(tmp_path, fork_session(talk.id, up_to=begun, config_home=tmp_path)) == ["go", "Running."]


def test_fork_copies_parallel_calls_and_replacements(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.user("go")
    one, two = talk.call("c1", "m"), talk.call("c2", "m")
    talk.result("c2", two)
    talk.result("c1", one)
    talk.note("content-replacement", replacements=[{"kind": "tool-result", "toolUseId": "c1"}])
    talk.assistant("done")
    fork = fork_session(talk.id, config_home=tmp_path)
    original, copy = read_session(talk.path), read_session(fork, config_home=tmp_path)
    assert [entry.uuid for entry in copy.messages] == [entry.uuid for entry in original.messages]
    kinds = [entry["type"] for entry in lines(copy.path)]
    assert kinds == [
        "user",
        "assistant",
        "assistant",
        "user",
        "user",
        "content-replacement",
        "assistant",
        "custom-title",
    ]


def test_fork_leaves_out_sidechains_and_damage(tmp_path: Path):
    talk = Conversation(tmp_path)
    asked = talk.user("one")
    talk.user("inner", parent=None, isSidechain=True)
    talk.line(b"{broken\n")
    talk.user("two", parent=asked)
    talk.line(b'{"type":"assistant","mess')
    copy = read_session(fork_session(talk.id, config_home=tmp_path), config_home=tmp_path)
    assert ([entry.text() for entry in copy.messages], copy.sidechains, copy.damage) == (["one", "two"], [], Damage())


def test_unpaired_surrogate_does_not_prevent_a_fork(tmp_path: Path):
    talk = Conversation(tmp_path)
    talk.line(rb'{"uuid":"a","type":"user","message":{"content":"half \ud83d"}}' + b"\n")
    assert said(tmp_path, fork_session(talk.id, config_home=tmp_path)) == ["half \ufffd"]


def test_fork_of_an_empty_session_or_unknown_entry_is_refused(tmp_path: Path):
    talk = Conversation(tmp_path)
    with pytest.raises(EntryNotFound, match="is empty"):
        fork_session(talk.id, config_home=tmp_path)
    talk.user("hello")
    with pytest.raises(EntryNotFound, match="no entry"):
        fork_session(talk.id, up_to="00000000-0000-4000-8000-999999999999", config_home=tmp_path)
    with pytest.raises(InvalidTitle):
        fork_session(talk.id, title="\x1b", config_home=tmp_path)
    assert list(talk.path.parent.iterdir()) == [talk.path]
