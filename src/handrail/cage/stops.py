"""Recognising that the cage stopped a command.

The kernel does not report what it refused, so this reads the command's own complaints. A command that hides them, or
that carries on and exits with 0 after a refusal inside the project, is not recognised.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final

from handrail.cage.base import Limits
from handrail.files.resolve import real_path

__all__ = ["what_was_stopped"]

_REFUSAL: Final = re.compile(
    r"permission denied|operation not permitted|insufficient permission|AccessDenied"
    r"|\bEACCES\b|\bEPERM\b|PermissionError|read-only file system",
    re.IGNORECASE,
)
_NO_NETWORK: Final = re.compile(
    r"could not resolve|couldn't resolve|name resolution|getaddrinfo|network is unreachable|EAI_AGAIN|failed to connect"
    r"|dns error|bad address",
    re.IGNORECASE,
)
_PATHS: Final = re.compile(r"'([^']+)'|\"([^\"]+)\"|`([^`']+)['`]|‘([^’]+)’|(?:^|[\s:=])((?:\.{0,2}/)[^\s:;,'\"]+)")
_MOST_LINES: Final = 3
_LONGEST_LINE: Final = 300


def what_was_stopped(code: int, output: str, limits: Limits, cwd: str) -> str:
    """The complaints of a command about what the cage refused; "" if it was not stopped.

    A command that succeeded counts only if a complaint names a file outside of its limits: other text about
    permissions may be its result.
    """
    lines = [line.strip()[:_LONGEST_LINE] for line in output.splitlines() if _complains(line)]
    if code == 0:
        lines = [line for line in lines if any(_is_outside(path, limits, cwd) for path in _paths(line))]
    return "\n".join(dict.fromkeys(lines[:_MOST_LINES]))


def _complains(line: str) -> bool:
    return _REFUSAL.search(line) is not None or _NO_NETWORK.search(line) is not None


def _paths(line: str) -> Iterator[str]:
    if _REFUSAL.search(line):
        for found in _PATHS.finditer(line):
            yield next(filter(None, found.groups()))


def _is_outside(path: str, limits: Limits, cwd: str) -> bool:
    real = real_path(os.path.join(cwd, path))
    granted = [real_path(folder) for folder in (*limits.read, *limits.write, *limits.devices)]
    return os.path.lexists(real) and not any(real == folder or real.startswith(f"{folder}/") for folder in granted)
