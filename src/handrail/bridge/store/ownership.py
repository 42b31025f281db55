"""Ownership on one machine: whoever has the data folder has all its sessions."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from handrail.bridge.errors import DataFolderTaken

__all__ = ["Alone", "DataFolder", "holder"]


class DataFolder:
    """A folder for this process alone. The lock goes with the process, however it ends."""

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
        """Let others have it."""
        fcntl.flock(self._lock, fcntl.LOCK_UN)  # a child that is just being started has the same lock
        os.close(self._lock)


def holder(path: Path) -> str:
    """Who works in a folder; "" for nobody. Nothing is made or changed."""
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
    """There is nobody else."""

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
