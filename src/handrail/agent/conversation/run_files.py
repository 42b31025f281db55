"""The files that a shell command would run, with a hash of each.

A user who allows `./run.sh` allows its present content. If it has changed when the answer arrives, the user is asked
again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import Final

from handrail.permissions.programs.runnable import INTERPRETERS
from handrail.permissions.programs.wrappers import base_name, is_shell
from handrail.permissions.shell.commands import Command, read_script
from handrail.permissions.shell.words import is_option

__all__ = ["run_files"]

MOST: Final = 16
LARGEST: Final = 4 * 1024 * 1024
_READERS: Final = frozenset({"source", "."})


def run_files(command: str, cwd: str) -> dict[str, str]:
    """The files that a command would run: path and hash of each."""
    found: dict[str, str] = {}
    for path in _paths(command, cwd):
        if len(found) < MOST and path not in found and (mark := _mark(path)):
            found[path] = mark
    return found


def _paths(text: str, cwd: str) -> Iterator[str]:
    for command in read_script(text).commands:
        for name in _names(command):
            for folder in command.folders:
                yield os.path.normpath(os.path.join(cwd, *folder, name))


def _names(command: Command) -> Iterator[str]:
    """The program, if it is named by a path, and the scripts that are passed to an interpreter."""
    words = [word for word in command.words if word.fixed]
    for at, word in enumerate(words):
        if "/" in word.text and at == 0:
            yield word.text
        program = base_name(word).rstrip("0123456789.") or base_name(word)
        if is_shell(program) or program in INTERPRETERS or program in _READERS:
            yield from (other.text for other in words[at + 1 :] if not is_option(other))
            return


def _mark(path: str) -> str:
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
            known = os.fstat(file.fileno())
    except (OSError, ValueError):
        return ""
    more = f"{known.st_size} {known.st_mtime_ns}" if len(data) > LARGEST else ""
    return hashlib.sha256(data + more.encode()).hexdigest()
