"""The message that starts the session of a prewarmed process: the folder and the arguments of its command line.

The process has the environment of the session already, and reads the message from its standard input before anything
else. Only the length is binary: 8 bytes, little-endian. The words follow, separated by NUL, which no argument contains.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

__all__ = ["AWAIT_START", "Start", "read_start"]

AWAIT_START: Final = "--await-start"
"""The only argument of a process that waits for this message."""
_LENGTH: Final = 8


class Start(Struct, frozen=True):
    """The folder of a session, and the arguments of its process without the executable."""

    cwd: str
    arguments: Sequence[str]

    def encode(self) -> bytes:
        """The message as bytes."""
        words = b"\0".join(map(os.fsencode, (self.cwd, *self.arguments)))
        return len(words).to_bytes(_LENGTH, "little") + words


def read_start(descriptor: int) -> Start | None:
    """Read the message and not one byte more. None if the input ends first: no session needs the process."""
    length = int.from_bytes(_read(descriptor, _LENGTH), "little")
    words = _read(descriptor, length)
    if not length or len(words) < length:
        return None
    cwd, *arguments = map(os.fsdecode, words.split(b"\0"))
    return Start(cwd, arguments)


def _read(descriptor: int, length: int) -> bytes:
    """`length` bytes, fewer at the end of the input."""
    found = b""
    while len(found) < length and (chunk := os.read(descriptor, length - len(found))):
        found += chunk
    return found
