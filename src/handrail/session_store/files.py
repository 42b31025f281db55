"""The transcripts of a session as keys of a store: which key a file has, and writing stored entries to files."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, cast

from handrail.platform import RAW
from handrail.session_store.base import SessionKey
from handrail.transcripts.layout import SESSION_ID, SessionFile, project_name

__all__ = ["META", "encode_entry", "key_of_path", "project_key_for_directory", "write_session"]

META = "agent_metadata"
"""The type of the entry that stands for the `.meta.json` beside a subagent's transcript."""

log = logging.getLogger("handrail.session_store")

_TRANSCRIPT = re.compile(
    rf"(?:.*/)?projects/(?P<project>[^/]+)/(?P<session>{SESSION_ID})(?:\.jsonl|/(?P<subpath>.+?)(?:\.jsonl)?)"
).fullmatch


def project_key_for_directory(directory: str | Path | None = None) -> str:
    """The `project_key` of a working directory (default: the current one): the name of its folder of transcripts."""
    return project_name(os.getcwd() if directory is None else directory)


def key_of_path(path: str) -> SessionKey | None:
    """The key of a transcript. None if the path is not of one, or names something outside of the session's folder.

    Only the end of the path counts, because the CLI may run in a container, where its home has another path.
    """
    found = _TRANSCRIPT(path)
    if found is None:
        return None
    key: SessionKey = {"project_key": found["project"], "session_id": found["session"]}
    if found["subpath"] is not None:
        if not _is_safe(found["subpath"]):
            return None
        key["subpath"] = found["subpath"]
    return key


def _is_safe(subpath: str) -> bool:
    """Whether a path stays below the folder it is joined to. A store may return any text."""
    parts = subpath.split("/")
    return not any(part in ("", ".", "..") or "\0" in part or "\\" in part for part in parts)


def encode_entry(entry: Mapping[str, Any]) -> bytes:
    """The line of an entry, with its `type` first.

    Readers that look only at the ends of a file find some entries by how their line begins, and a store may have
    changed the order of the fields, as `jsonb` of PostgreSQL does.
    """
    first = {"type": entry["type"]} if "type" in entry else {}
    return json.dumps({**first, **entry}, separators=(",", ":")).encode() + b"\n"


def write_session(
    file: SessionFile,
    entries: Sequence[Mapping[str, Any]],
    others: Iterable[tuple[str, Sequence[Mapping[str, Any]]]],
) -> None:
    """Write a session's transcript, and those of its subagents by their subpath, below a new `file.root`."""
    _write(file.path, map(encode_entry, entries))
    for subpath, lines in others:
        if not _is_safe(subpath):
            log.warning("the session store listed the subpath %r, which is not below the session; skipped", subpath)
            continue
        path = file.folder / PurePosixPath(f"{subpath}.jsonl")
        _write(path, (encode_entry(entry) for entry in lines if entry.get("type") != META))
        about = [entry for entry in lines if entry.get("type") == META]
        if about:
            fields = {name: value for name, value in cast("dict[str, Any]", about[-1]).items() if name != "type"}
            _write(path.with_suffix(".meta.json"), [json.dumps(fields).encode()])


def _write(path: Path, parts: Iterable[bytes]) -> None:
    """Write a private file in private folders, which must be new: nothing is followed or replaced."""
    missing = [folder for folder in path.parents if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(0o700)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | RAW, 0o600), "wb") as stream:
        stream.writelines(parts)
