"""Stores the contents of files under names: in a private folder, or in memory for a session that is not persisted."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from handrail.agent.record.journal import make_private

__all__ = ["Store"]


class Store:
    """Contents of files, each with the mode of its file."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._memory: dict[str, tuple[bytes, int]] = {}

    def put(self, name: str, content: bytes, mode: int) -> None:
        """Store a content. Raises OSError."""
        if self._folder is None:
            self._memory[name] = content, mode
            return
        make_private(self._folder)
        unfinished = self._folder / f".{name}.{os.getpid()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(unfinished, flags, 0o600), "wb") as file:
                file.write(content)
                # The CLI restores a file with the mode of its backup. The folder is private, whatever that mode is.
                os.fchmod(file.fileno(), mode | stat.S_IRUSR)
            os.rename(unfinished, self._folder / name)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(unfinished)
            raise

    def get(self, name: str) -> tuple[bytes, int] | None:
        """A content and the mode of its file; None if it is not stored."""
        if self._folder is None:
            return self._memory.get(name)
        try:
            descriptor = os.open(self._folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            return (file.read(), stat.S_IMODE(status.st_mode)) if stat.S_ISREG(status.st_mode) else None

    def size(self, name: str) -> int:
        """The size of a content; 0 if it is not stored."""
        if self._folder is None:
            return len(self._memory[name][0]) if name in self._memory else 0
        try:
            return os.lstat(self._folder / name).st_size
        except OSError:
            return 0

    def forget(self, names: Iterable[str]) -> None:
        """Delete contents."""
        for name in names:
            self._memory.pop(name, None)
            if self._folder is not None:
                with contextlib.suppress(OSError):
                    os.unlink(self._folder / name)

    def is_at(self, folder: Path) -> bool:
        """Whether the contents are stored in this folder."""
        return folder == self._folder

    def copy_from(self, folder: Path, names: Iterable[str]) -> None:
        """Link the contents of another session. Contents never change, so both may share them."""
        if self._folder is None:
            return
        for name in names:
            with contextlib.suppress(OSError):
                make_private(self._folder)
                os.link(folder / name, self._folder / name, follow_symlinks=False)
