"""The files that a tool call shows to the model or changes, so that the memory files about them can be added."""

from __future__ import annotations

from typing import Any, Final

from handrail.agent.tools.desk import Desk

__all__ = ["files_shown"]

_PATHS: Final = {"Read": "file_path", "Edit": "file_path", "Write": "file_path", "NotebookEdit": "notebook_path"}
_PRINTERS: Final = frozenset({"cat", "head", "tail", "sed", "grep", "egrep", "fgrep", "rg", "nl"})
"""Commands whose output is the text of the files that they name."""


def files_shown(tool: str, input: dict[str, Any], desk: Desk) -> list[str]:
    """The real paths of these files."""
    names = [str(input.get(_PATHS[tool]) or "")] if tool in _PATHS else []
    if tool == "Bash":
        names = _printed(str(input.get("command") or ""))
    found = [desk.resolve(name) for name in names if name]
    return [resolved.real for resolved in found if resolved.kind == "file" and resolved.real]


def _printed(command: str) -> list[str]:
    """The files that a command prints, if it is one of those that print files and nothing else runs beside it."""
    if command.lstrip().partition(" ")[0] not in _PRINTERS:
        return []
    from handrail.permissions.programs.files import files_of
    from handrail.permissions.shell.commands import read_script

    commands = read_script(command).commands
    if len(commands) != 1 or commands[0].redirects:
        return []
    return [touch.word.text for touch in files_of(commands[0].words) if touch.access == "read" and touch.word.fixed]
