"""Sessions that a CLI stored on this machine: listed, imported with their history, and deleted."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.terminal_sessions import TerminalSessions
from handrail.bridge.store.base import SessionRecord
from handrail.transcripts import SessionNotFound, locate
from tests.transcripts.conversation import Conversation

pytestmark = pytest.mark.usefixtures("own_home")

ID = "11111111-1111-4111-8111-111111111111"


def talk(folder: str, text: str, when: int, home: str = ".claude", **fields: Any) -> Conversation:
    """A session with one prompt and one answer. `when`: its last use, in seconds since 1970."""
    conversation = Conversation(Path.home() / home, project=folder.replace("/", "-"))
    conversation.user(text, cwd=folder, **fields)
    conversation.assistant(f"On {text}", cwd=folder)
    os.utime(conversation.path, (when, when))
    return conversation


async def test_sessions_of_all_clis_are_listed_newest_first():
    old, ours, new = talk("/w", "old", 100), talk("/w", "ours", 200, ".handrail"), talk("/v", "new", 300)
    terminal = TerminalSessions()
    assert [info.id for info in await terminal.list()] == [new.id, ours.id, old.id]
    assert [info.title for info in await terminal.list(limit=2)] == ["new", "ours"]
    assert [info.id for info in await terminal.list("/w")] == [ours.id, old.id]


async def test_unchanged_file_is_not_read_again():
    """Ten thousand sessions must be listed quickly."""
    stored = talk("/w", "first", 100)
    terminal = TerminalSessions()
    assert [info.title for info in await terminal.list()] == ["first"]
    stored.path.write_bytes(stored.path.read_bytes().replace(b"first", b"other"))
    os.utime(stored.path, (100, 100))
    assert [info.title for info in await terminal.list()] == ["first"]
    os.utime(stored.path, (101, 101))
    assert [info.title for info in await terminal.list()] == ["other"]


async def test_symbolic_link_is_ignored(tmp_path: Path):
    elsewhere = talk("/w", "secret", 100, home="elsewhere").path
    folder = Path.home() / ".claude" / "projects" / "-w"
    folder.mkdir(parents=True)
    (folder / elsewhere.name).symlink_to(elsewhere)
    terminal = TerminalSessions()
    assert await terminal.list() == []
    with pytest.raises(CommandRefused):
        await terminal.import_session(elsewhere.stem)


async def test_imported_history_has_the_lines_and_is_searchable():
    stored = talk("/w", "Plant a tree", 100)
    record, past = await TerminalSessions().import_session(stored.id)
    assert (record.conversation, record.cwd, record.title, record.state) == (
        stored.id,
        "/w",
        "Plant a tree",
        "hibernated",
    )
    lines = [json.loads(event.data) for event in past]
    assert [(line["type"], line["imported"]) for line in lines] == [("user", True), ("assistant", True)]
    assert [event.text for event in past] == ["Plant a tree", "On Plant a tree"]


async def test_history_ends_at_a_message_or_is_empty():
    stored = talk("/w", "a", 100)
    terminal = TerminalSessions()
    past = await terminal.past(stored.id)
    assert len(past) == 2
    first = json.loads(past[0].data)["uuid"]
    assert await terminal.past(stored.id, through=first) == past[:1]
    assert await terminal.past("00000000-0000-4000-8000-00000000ffff") == []


# Deleting transcripts


def stored_record(id: str = ID, conversation: str = ID) -> SessionRecord:
    return SessionRecord(id=id, cwd="/w", created=1, changed=1, conversation=conversation)


def written(home: Path, id: str = ID, *, by: Sequence[str] = ("", "")) -> Path:
    """A transcript of a prompt and an answer. `by`: the program that wrote each; "" is the real CLI."""
    talk = Conversation(home, session_id=id)
    prompt, answer = ({"writtenBy": writer} if writer else {} for writer in by)
    talk.user("hello", **prompt)
    talk.assistant("hi", **answer)
    return talk.path


async def test_a_transcript_of_the_real_cli_is_deleted_only_when_asked():
    path = written(Path.home() / ".claude")
    terminal = TerminalSessions()
    assert await terminal.delete(stored_record(), asked=False) == "kept"
    assert path.exists()
    assert await terminal.delete(stored_record(), asked=True) == "deleted"
    assert not path.exists()
    assert await terminal.delete(stored_record(), asked=True) == "none"
    with pytest.raises(SessionNotFound):
        locate(ID)


@pytest.mark.parametrize(
    ("by", "outcome"),
    [
        (("handrail-agent", "handrail-agent"), "deleted"),
        (("handrail-agent", ""), "kept"),
        (("", "handrail-agent"), "kept"),
        (("someone-else", "handrail-agent"), "kept"),
    ],
)
async def test_a_transcript_that_only_the_agent_wrote_is_deleted_unasked(by: Sequence[str], outcome: str):
    path = written(Path.home() / ".claude", by=by)
    assert await TerminalSessions().delete(stored_record(), asked=False) == outcome
    assert path.exists() is (outcome == "kept")


async def test_a_shared_config_home_does_not_make_a_transcript_of_the_cli_the_agents(monkeypatch: pytest.MonkeyPatch):
    shared = Path.home() / "shared"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(shared))
    path = written(shared)
    assert await TerminalSessions().delete(stored_record(), asked=False) == "kept"
    assert path.exists()


async def test_a_session_in_both_homes_is_listed_once_and_deleted_in_both():
    for home in (".handrail", ".claude"):
        written(Path.home() / home, by=("handrail-agent", "handrail-agent"))
    terminal = TerminalSessions()
    assert [info.path.parent.parent.parent.name for info in await terminal.list()] == [".claude"]
    assert await terminal.delete(stored_record(), asked=False) == "deleted"
    assert await terminal.list() == []


async def test_a_transcript_under_the_conversation_id_is_deleted_too():
    other = "22222222-2222-4222-8222-222222222222"
    path = written(Path.home() / ".handrail", other)
    terminal = TerminalSessions()
    assert await terminal.delete(stored_record(conversation=other), asked=False) == "deleted"
    assert not path.exists()
