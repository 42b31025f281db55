"""Forks a session: copies its conversation into a new session.

As in a fork by the CLI, entries keep their uuids and order and only `sessionId` changes. Bookkeeping is not copied.
"""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from handrail.transcripts.chain import Link, conversation
from handrail.transcripts.entry import decode
from handrail.transcripts.errors import EntryNotFound
from handrail.transcripts.index import find_session
from handrail.transcripts.layout import locate, open_below
from handrail.transcripts.read import raw_line, scan_entries
from handrail.transcripts.write import CustomTitle, clean_title, create_file


def fork_session(
    session_id: str,
    *,
    up_to: str | None = None,
    title: str | None = None,
    config_home: Path | None = None,
) -> str:
    """Fork a session, up to its end or up to and including the entry `up_to`. Returns the id of the fork."""
    source = locate(session_id, config_home)
    name = clean_title(title or f"{find_session(session_id, config_home).title or 'Session'} (fork)")
    fork = msgspec.structs.replace(source, session_id=str(uuid.uuid4()))
    with os.fdopen(open_below(source.root, source.path), "rb") as stream:
        create_file(fork, forked_lines(stream, session_id, CustomTitle(name, fork.session_id), up_to))
    return fork.session_id


def forked_lines(stream: BinaryIO, session_id: str, title: CustomTitle, up_to: str | None = None) -> Iterator[bytes]:
    """The lines of a fork of the session in `stream`, each with the session id of `title`, which is the last line.

    Raises EntryNotFound.
    """
    scan = scan_entries(stream)
    links = _chain(scan.main, up_to, session_id)
    return _lines(stream, sorted([(link.offset, link.length) for link in links] + scan.replacements), title)


def _chain(links: list[Link], up_to: str | None, session_id: str) -> list[Link]:
    if up_to is not None:
        end = next((index for index, link in enumerate(links) if link.uuid == up_to), None)
        if end is None:
            raise EntryNotFound(f"session {session_id} has no entry {up_to}")
        links = links[: end + 1]
    chain = conversation(links, leaf=up_to).links
    if not chain:
        raise EntryNotFound(f"session {session_id} is empty; a fork needs at least one message")
    return chain


def _lines(stream: BinaryIO, places: list[tuple[int, int]], title: CustomTitle) -> Iterator[bytes]:
    owner = msgspec.Raw(msgspec.json.encode(title.session_id))
    for offset, length in places:
        fields, _ = decode(raw_line(stream, offset, length), dict[str, msgspec.Raw])
        fields["sessionId"] = owner
        yield msgspec.json.encode(fields) + b"\n"
    yield msgspec.json.encode(title) + b"\n"
