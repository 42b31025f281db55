"""Reads the messages of a session in order, and reports damage in the file.

Two passes over one open file: the first collects links, the second reads the entries of the conversation. Most of a
transcript is bookkeeping and is never held in memory.
"""

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from handrail.transcripts.chain import Link, conversation, threads
from handrail.transcripts.entry import SPOKEN, Body, Entry, Envelope, body, decode
from handrail.transcripts.errors import TranscriptUnusable
from handrail.transcripts.layout import locate, open_below

LINE_LIMIT = 64 * 1024 * 1024
"""A longer line is skipped without being read into memory."""
_NOTES = frozenset({"cost-state", "custom-title", "ai-title", "last-prompt"})


class Damage(msgspec.Struct):
    """Counts of damaged places in a file; all zero if it is intact."""

    truncated: int = 0
    """An incomplete last line, after the writer was killed."""
    corrupt: int = 0
    """Lines that cannot be decoded."""
    oversized: int = 0
    """Lines above LINE_LIMIT."""
    repaired: int = 0
    """Lines in which an unpaired surrogate or invalid bytes were replaced by U+FFFD."""
    cycles: int = 0
    """Cycles in the chain of parents."""
    gaps: int = 0
    """Parents that are missing in the file."""

    @property
    def total(self) -> int:
        return self.truncated + self.corrupt + self.oversized + self.repaired + self.cycles + self.gaps


class Transcript(msgspec.Struct, frozen=True):
    """A conversation from disk. `sidechains` are of subagents of old CLIs, which wrote into the same file."""

    session_id: str
    path: Path
    messages: list[Entry]
    sidechains: list[list[Entry]]
    damage: Damage


class Scan(msgspec.Struct):
    """The links of a file, the places of unchained entries that change what the model sees, and the damage."""

    links: list[Link]
    replacements: list[tuple[int, int]]
    damage: Damage
    file_history: list[tuple[int, int]] = msgspec.field(default_factory=list[tuple[int, int]])
    """The places of the lines about checkpoints."""
    leaf: str | None = None
    """The entry at which the last writer ended, if it said so after the last message."""
    notes: dict[str, list[tuple[int, int]]] = msgspec.field(default_factory=dict[str, list[tuple[int, int]]])
    """The places of bookkeeping lines by type, oldest first; the last of a type counts."""

    @property
    def main(self) -> list[Link]:
        return [link for link in self.links if not link.sidechain]


def read_session(
    session: str | Path,
    *,
    types: Collection[str] = SPOKEN,
    since_compaction: bool = False,
    config_home: Path | None = None,
) -> Transcript:
    """The conversation of a session, oldest message first.

    `session` is an id (text), looked up under the projects folder, or the path of a transcript. `types` adds other
    chained entries, such as "system" and "attachment". With `since_compaction` only what the model still sees.
    """
    if isinstance(session, Path):
        path = session.resolve()
        root = path.parent
    else:
        file = locate(session, config_home)
        path, root = file.path, file.root
    with os.fdopen(open_below(root, path), "rb") as stream:
        scan = scan_entries(stream)
        chain = conversation(scan.main, since_compaction=since_compaction)
        messages = [*entries(stream, chain.links, types)]
        sidechains = [[*entries(stream, thread, types)] for thread in threads([x for x in scan.links if x.sidechain])]
    damage = msgspec.structs.replace(scan.damage, cycles=chain.cycles, gaps=chain.gaps)
    return Transcript(path.stem, path, messages, sidechains, damage)


def scan_entries(stream: BinaryIO) -> Scan:
    """One pass over a file: the link of every chained entry."""
    scan = Scan([], [], Damage())
    for offset, line in lines(stream, scan.damage):
        try:
            envelope, repaired = decode(line, Envelope)
        except ValueError:
            if line.endswith(b"\n"):
                scan.damage.corrupt += 1
            else:
                scan.damage.truncated += 1
            continue
        scan.damage.repaired += repaired
        place = offset, len(line.rstrip(b"\r\n"))
        if envelope.type in _NOTES:
            scan.notes.setdefault(envelope.type, []).append(place)
        if envelope.type == "content-replacement":
            scan.replacements.append(place)
        elif envelope.type in ("file-history-snapshot", "file-history-delta"):
            scan.file_history.append(place)
        elif envelope.type == "last-prompt":
            scan.leaf = envelope.leaf_uuid
        elif envelope.uuid and envelope.type:
            scan.links.append(_link(envelope, *place))
            if envelope.type in SPOKEN:
                scan.leaf = None
    return scan


def lines(stream: BinaryIO, damage: Damage) -> Iterator[tuple[int, bytes]]:
    """Every non-blank line with its offset in the file, including its newline; the last line may lack one."""
    stream.seek(0)
    offset = 0
    while line := stream.readline(LINE_LIMIT + 1):
        start = offset
        offset += len(line)
        if len(line) > LINE_LIMIT:
            damage.oversized += 1
            while line and not line.endswith(b"\n"):
                line = stream.readline(1024 * 1024)
                offset += len(line)
        elif line.strip():
            yield start, line


def _link(envelope: Envelope, offset: int, length: int) -> Link:
    message = body(envelope)[0] if envelope.type in SPOKEN else Body()
    blocks = [] if isinstance(message.content, str) else message.content
    return Link(
        offset,
        length,
        envelope.type,
        envelope.uuid or "",
        envelope.parent_uuid,
        envelope.logical_parent_uuid,
        sidechain=bool(envelope.is_sidechain),
        meta=bool(envelope.is_meta),
        agent_id=envelope.agent_id,
        timestamp=envelope.timestamp,
        message_id=message.id if envelope.type == "assistant" else None,
        calls=tuple(block.id for block in blocks if block.type == "tool_use" and block.id),
        answers=tuple(block.tool_use_id for block in blocks if block.tool_use_id and block.type == "tool_result"),
    )


def entries(stream: BinaryIO, links: Collection[Link], types: Collection[str] = SPOKEN) -> Iterator[Entry]:
    """The entries of these links, without meta entries, which no one said."""
    for link in links:
        if link.type in types and not link.meta:
            raw = raw_line(stream, link.offset, link.length)
            yield Entry(raw, link.type, link.uuid, link.parent, link.timestamp, link.agent_id)


def raw_line(stream: BinaryIO, offset: int, length: int) -> bytes:
    """The bytes of one entry. Raises TranscriptError if the file became shorter since it was scanned."""
    stream.seek(offset)
    raw = stream.read(length)
    if len(raw) < length:
        raise TranscriptUnusable(f"{stream.name} became shorter while it was being read; try again")
    return raw
