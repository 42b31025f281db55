"""Sessions that a CLI has on this machine: listed, and with a past that can be gone on with."""

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
    """A session with one question and one answer, last used at a second since 1970."""
    one = Conversation(Path.home() / home, project=folder.replace("/", "-"))
    one.user(text, cwd=folder, **fields)
    one.assistant(f"On {text}", cwd=folder)
    os.utime(one.path, (when, when))
    return one


async def test_all_are_listed_the_newest_first_wherever_a_cli_keeps_them():
    old, ours, new = talk("/w", "old", 100), talk("/w", "ours", 200, ".handrail"), talk("/v", "new", 300)
    terminal = TerminalSessions()
    assert [info.id for info in await terminal.list()] == [new.id, ours.id, old.id]
    assert [info.title for info in await terminal.list(limit=2)] == ["new", "ours"]
    assert [info.id for info in await terminal.list("/w")] == [ours.id, old.id]


async def test_a_file_that_has_not_changed_is_not_read_again():
    """So that ten thousand of them are listed in no time."""
    one = talk("/w", "first", 100)
    terminal = TerminalSessions()
    assert [info.title for info in await terminal.list()] == ["first"]
    one.path.write_bytes(one.path.read_bytes().replace(b"first", b"other"))
    os.utime(one.path, (100, 100))
    assert [info.title for info in await terminal.list()] == ["first"]
    os.utime(one.path, (101, 101))
    assert [info.title for info in await terminal.list()] == ["other"]


async def test_a_link_to_somewhere_else_is_no_session(tmp_path: Path):
    elsewhere = talk("/w", "secret", 100, home="elsewhere").path
    folder = Path.home() / ".claude" / "projects" / "-w"
    folder.mkdir(parents=True)
    (folder / elsewhere.name).symlink_to(elsewhere)
    terminal = TerminalSessions()
    assert await terminal.list() == []
    with pytest.raises(CommandRefused):
        await terminal.import_session(elsewhere.stem)


async def test_a_past_is_lines_as_the_cli_once_wrote_them_that_can_be_searched():
    one = talk("/w", "Plant a tree", 100)
    record, past = await TerminalSessions().import_session(one.id)
    assert (record.conversation, record.cwd, record.title, record.state) == (one.id, "/w", "Plant a tree", "hibernated")
    lines = [json.loads(event.data) for event in past]
    assert [(line["type"], line["imported"]) for line in lines] == [("user", True), ("assistant", True)]
    assert [event.text for event in past] == ["Plant a tree", "On Plant a tree"]


async def test_a_past_goes_through_a_message_and_is_nothing_where_there_is_none():
    one = talk("/w", "a", 100)
    terminal = TerminalSessions()
    past = await terminal.past(one.id)
    assert len(past) == 2
    first = json.loads(past[0].data)["uuid"]
    assert await terminal.past(one.id, through=first) == past[:1]
    assert await terminal.past("00000000-0000-4000-8000-00000000ffff") == []
