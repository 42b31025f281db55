"""Files that only their owner can read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from handrail.bridge.errors import UnusableFile

__all__ = ["read_private", "write_private"]


def read_private(path: Path) -> str:
    """The content of a file; "" if it does not exist. Raises BridgeError if others may read it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return ""
    with os.fdopen(descriptor) as file:
        mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
        if mode & 0o077:
            raise UnusableFile(
                f"other users can read {path} (mode {mode:04o}), so its secret may be known; delete the file, and a"
                " new one is created"
            )
        return file.read(1024).strip()


def write_private(path: Path, text: str) -> None:
    """Write a file with mode 0600."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
