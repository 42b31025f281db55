"""Ownership on one machine: the process that holds the data folder owns all its sessions."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from handrail.bridge.errors import DataFolderTaken

__all__ = ["Alone", "DataFolder", "holder"]


class DataFolder:
    """A folder locked for this process. The kernel releases the lock when the process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
        self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._lock, 200, 0).decode(errors="replace").strip()
            os.close(self._lock)
            raise DataFolderTaken(path, holder or "another process") from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"process {os.getpid()}".encode(), 0)

    def close(self) -> None:
        """Release the folder."""
        # Unlock before closing: a child between fork and exec has a copy of the descriptor and would keep the lock.
        fcntl.flock(self._lock, fcntl.LOCK_UN)
        os.close(self._lock)


def holder(path: Path) -> str:
    """The process that holds a data folder; "" if it is free. Changes nothing."""
    try:
        lock = os.open(path / "lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return os.pread(lock, 200, 0).decode(errors="replace").strip() or "another process"
    else:
        return ""
    finally:
        os.close(lock)


class Alone:
    """Ownership without other machines: every claim succeeds."""

    def __init__(self, name: str = "here") -> None:
        self._name = name
        self._held: set[str] = set()

    async def claim(self, session: str, *, new: bool = False) -> bool:
        self._held.add(session)
        return True

    async def release(self, session: str, *, gone: bool = False) -> None:
        self._held.discard(session)

    async def owner(self, session: str) -> str:
        return self._name if session in self._held else ""
