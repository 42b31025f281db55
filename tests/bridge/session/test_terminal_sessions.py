"""Sessions that a CLI stored on this machine: listed, and imported with their history."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.terminal_sessions import TerminalSessions
from tests.transcripts.conversation import Conversation

pytestmark = pytest.mark.usefixtures("own_home")


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
