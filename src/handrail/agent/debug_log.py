"""The debug log of --debug, --debug-file and --debug-to-stderr.

Lines have a category. The value of --debug selects categories: `api,session` only these, `!api` all but this one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from handrail.agent.arguments import Arguments
from handrail.agent.errors import Refused

__all__ = ["DebugLog", "open_debug_log"]

FOLDER: Final = "debug"


class DebugLog:
    """Writes lines of the selected categories. Nothing secret may be logged."""

    def __init__(self, write: Callable[[str], None], selected: str = "") -> None:
        names = [name.strip().lower() for name in selected.split(",") if name.strip()]
        self._write = write
        self._hidden = {name.removeprefix("!") for name in names if name.startswith("!")}
        self._shown = {name for name in names if not name.startswith("!")}

    def __call__(self, category: str, text: str) -> None:
        """Write one line."""
        if category in self._hidden or (self._shown and category not in self._shown):
            return
        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._write(f"{time} [DEBUG] {category}: {text}\n")


def open_debug_log(arguments: Arguments, config_home: str, session_id: str) -> DebugLog | None:
    """The log that the flags ask for; None if they ask for none. Raises Refused if its file cannot be opened.

    --debug alone writes to CONFIG_HOME/debug/SESSION.txt, as the CLI does.
    """
    if arguments.debug_to_stderr:
        return DebugLog(_to_stderr, arguments.debug or "")
    if arguments.debug is None and not arguments.debug_file:
        return None
    path = arguments.debug_file or os.path.join(config_home, FOLDER, f"{session_id}.txt")
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Refused(f"Error: cannot write the debug log {path}: {error.strerror}") from None
    file = os.fdopen(number, "a", buffering=1, encoding="utf-8", errors="replace")
    return DebugLog(lambda line: _append(file.write, line), arguments.debug or "")


def _append(write: Callable[[str], int], line: str) -> None:
    """Write to the file; a full disk must not end the session."""
    try:
        write(line)
    except (OSError, ValueError):
        return


def _to_stderr(line: str) -> None:
    print(line, end="", file=sys.stderr, flush=True)
