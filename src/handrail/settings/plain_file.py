"""Reads a plain file that an untrusted author may have written: bounded in size, and without blocking."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from handrail.errors import MachineError
from handrail.platform import NO_TERMINAL, NO_WAIT, RAW

__all__ = ["LIMIT", "Unreadable", "read_bytes"]

LIMIT = 2 * 1024 * 1024
"""The largest settings file that is read, in bytes."""


class Unreadable(MachineError):
    """A file exists and cannot be read, or is not a plain file; the text says why."""


def read_bytes(path: str, limit: int = LIMIT) -> bytes | None:
    """The bytes of a plain file; None for a missing one. Raises Unreadable for anything else."""
    try:
        # Opening a device can have effects, so the kind is checked before; the descriptor's kind decides.
        _check_kind(os.stat(path).st_mode)
        descriptor = os.open(path, os.O_RDONLY | NO_WAIT | NO_TERMINAL | RAW)
        with os.fdopen(descriptor, "rb") as stream:
            _check_kind(os.fstat(descriptor).st_mode)
            data = stream.read(limit + 1) or b""  # nothing to read yet: some files of /proc and /sys
    except FileNotFoundError:
        if os.path.islink(path):
            raise Unreadable("a symbolic link that leads nowhere") from None
        return None
    except (OSError, ValueError) as error:
        raise Unreadable(getattr(error, "strerror", None) or str(error)) from None
    if len(data) > limit:
        raise Unreadable(f"larger than {limit // 1024} KiB")
    return data


_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def _check_kind(mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = next((name for test, name in _KINDS if test(mode)), "something odd")
        raise Unreadable(f"{kind}, where a plain file is expected")
