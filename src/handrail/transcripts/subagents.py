"""Reads the conversations of a session's subagents, one file `agent-<id>.jsonl` each."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from handrail.transcripts.chain import conversation
from handrail.transcripts.entry import Entry, decode
from handrail.transcripts.errors import TranscriptError
from handrail.transcripts.layout import SessionFile, locate, open_below
from handrail.transcripts.read import Damage, entries, scan_entries

_META_LIMIT = 1024 * 1024
_DEPTH_LIMIT = 8


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    agent_type: str | None = None
    description: str | None = None
    tool_use_id: str | None = None
    parent_agent_id: str | None = None


class Subagent(msgspec.Struct, frozen=True):
    """One subagent; `tool_use_id` is the call that started it, in the session or in the agent `parent_agent_id`."""

    agent_id: str
    path: Path
    agent_type: str | None
    description: str | None
    tool_use_id: str | None
    messages: list[Entry]
    damage: Damage
    parent_agent_id: str | None = None


def read_subagents(session_id: str, *, config_home: Path | None = None) -> list[Subagent]:
    """The subagents of a session, in the order they began."""
    file = locate(session_id, config_home)
    found: list[Subagent] = []
    for path in subagent_files(file.subagents):
        with contextlib.suppress(TranscriptError):  # a link, or removed meanwhile; read the others
            found.append(_read(file.root, path))
    return sorted(found, key=lambda agent: (agent.messages[0].timestamp or "") if agent.messages else "")


def read_subagent(file: SessionFile, agent_id: str) -> Subagent | None:
    """One subagent of a session; None if it left no transcript that can be read."""
    for path in subagent_files(file.subagents):
        if path.stem == f"agent-{agent_id}":
            with contextlib.suppress(TranscriptError):
                return _read(file.root, path)
    return None


def subagent_files(folder: Path, depth: int = 0) -> Iterator[Path]:
    """The transcripts in a session's folder of subagents, and in the folders below it; links are left out."""
    try:
        with os.scandir(folder) as found:
            inside = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in inside:
        if entry.is_dir(follow_symlinks=False) and depth < _DEPTH_LIMIT:
            yield from subagent_files(Path(entry.path), depth + 1)
        elif entry.name.startswith("agent-") and entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False):
            yield Path(entry.path)


def _read(root: Path, path: Path) -> Subagent:
    meta = _read_meta(root, path.with_suffix(".meta.json"))
    with os.fdopen(open_below(root, path), "rb") as stream:
        scan = scan_entries(stream)
        chain = conversation(scan.links)
        messages = [*entries(stream, chain.links)]
    damage = msgspec.structs.replace(scan.damage, cycles=chain.cycles, gaps=chain.gaps)
    agent_id = path.stem.removeprefix("agent-")
    return Subagent(
        agent_id,
        path,
        meta.agent_type,
        meta.description,
        meta.tool_use_id,
        messages,
        damage,
        meta.parent_agent_id,
    )


def _read_meta(root: Path, path: Path) -> _Meta:
    # The conversation is useful without its metadata.
    try:
        with os.fdopen(open_below(root, path), "rb") as stream:
            return decode(stream.read(_META_LIMIT), _Meta)[0]
    except (TranscriptError, ValueError):
        return _Meta()
