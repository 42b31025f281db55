"""Reads a script from a file. In: a path. Out: a `Script`, or a `ScriptError` that names the file and the fault."""

from __future__ import annotations

from pathlib import Path

from handrail.agent.models.script import Script, ScriptError


def load_script(path: Path) -> Script:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ScriptError(f"{path}: cannot be read: {error.strerror or error}") from None
    return Script.from_json(data, source=path.name)
