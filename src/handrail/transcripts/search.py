"""Searches the messages of all sessions, newest session first."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from handrail.transcripts import layout
from handrail.transcripts.entry import SPOKEN, Envelope, body, decode, texts
from handrail.transcripts.errors import TranscriptError
from handrail.transcripts.index import SessionInfo, list_sessions
from handrail.transcripts.read import Damage, lines

_AROUND = 60
_WORD = re.compile(r"[A-Za-z0-9]+")


class Hit(msgspec.Struct, frozen=True):
    """One message that contains the query; `snippet` is the first occurrence on one line."""

    session: SessionInfo
    uuid: str
    role: str
    timestamp: str | None
    snippet: str


def search_sessions(
    query: str,
    directory: str | Path | None = None,
    limit: int | None = None,
    config_home: Path | None = None,
) -> Iterator[Hit]:
    """Find messages of users and assistants that contain `query`, ignoring case; tool output is not searched."""
    wanted = re.compile(re.escape(query.strip()), re.IGNORECASE)
    if not wanted.pattern:
        return
    # JSON never escapes a word of plain letters, so a line without it need not be decoded.
    rare = max(_WORD.findall(query), key=len, default="").lower().encode()
    found = 0
    for session in list_sessions(directory, config_home=config_home):
        for hit in _hits(session, wanted, rare):
            if limit is not None and found >= limit:
                return
            found += 1
            yield hit


def _hits(session: SessionInfo, wanted: re.Pattern[str], rare: bytes) -> Iterator[Hit]:
    try:
        descriptor = layout.open_below(session.path.parent.parent, session.path)
    except TranscriptError:
        return  # deleted since it was listed
    with os.fdopen(descriptor, "rb") as stream:
        for _, line in lines(stream, Damage()):
            if b'"role"' in line and rare in line.lower():
                yield from _hit(session, wanted, line)


def _hit(session: SessionInfo, wanted: re.Pattern[str], line: bytes) -> Iterator[Hit]:
    try:
        envelope = decode(line, Envelope)[0]
    except ValueError:
        return
    if envelope.type not in SPOKEN or envelope.is_meta or not envelope.uuid:
        return
    for text in texts(body(envelope)[0]):
        if found := wanted.search(text):
            yield Hit(session, envelope.uuid, envelope.type, envelope.timestamp, _snippet(text, *found.span()))
            return


def _snippet(text: str, start: int, end: int) -> str:
    left, right = max(0, start - _AROUND), min(len(text), end + _AROUND)
    shown = re.sub(r"\s+", " ", text[left:right]).strip()
    return f"{'…' if left else ''}{shown}{'…' if right < len(text) else ''}"
