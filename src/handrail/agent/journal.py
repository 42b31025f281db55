"""A file of JSON lines that only grows. In: lines. Out: each of them whole in the file, or kept until that is possible.

A line is one write to the end of the file: a process that is killed loses nothing it has written, and of two processes
that write at once both leave whole lines. What a full disk refuses is kept, within a limit, and written with the next
line; a line of which only a part fits is written again, on a line of its own. Who writes is told once what is wrong.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

from handrail.transcripts.layout import folder_below

__all__ = ["Journal", "make_private"]

KEPT_LIMIT: Final = 16 * 1024 * 1024
"""How much of what cannot be written is kept."""
_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Journal:
    """One file below `root`; it and its folders are made with the first line, for their owner alone."""

    def __init__(self, root: Path, path: Path, *, report: Callable[[str], None], shared: str = "") -> None:
        self._root, self.path, self._report = root, path, report
        self._shared = shared
        """What is said where another process writes to the file too; nothing if empty."""
        self._descriptor = -1
        self._torn = False
        self._waiting: deque[bytes] = deque()
        self._waiting_size = 0
        self.failed = ""
        """Why the last line could not be written; empty where all is well."""

    def append(self, data: bytes) -> None:
        """One line or several, each with its end."""
        if self._waiting and self._waiting_size + len(data) > KEPT_LIMIT:
            return  # it was told that nothing can be written; memory is not for ever
        self._waiting.append(data)
        self._waiting_size += len(data)
        self._write()

    def _write(self) -> None:
        try:
            if self._descriptor < 0:
                self._open()
            while self._waiting:
                self._write_one(self._waiting[0])
                self._waiting_size -= len(self._waiting.popleft())
            self.failed = ""
        except OSError as error:
            first, self.failed = not self.failed, f"{self.path}: {error.strerror}"
            if first:
                self._report(
                    f"The session cannot be written down: {self.failed}. It goes on, and what is said is written once"
                    " that is possible; if this process ends before, it is lost."
                )

    def _write_one(self, line: bytes) -> None:
        data = b"\n" + line if self._torn else line
        written = os.write(self._descriptor, data)
        if written < len(data):
            self._torn = self._torn or written > 0
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._torn = False

    def _open(self) -> None:
        make_private(self.path.parent)
        with folder_below(self._root, self.path.parent) as folder:
            descriptor = os.open(self.path.name, _FLAGS, 0o600, dir_fd=folder)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "not a plain file")
        self._descriptor = descriptor
        self._torn = status.st_size > 0 and os.pread(descriptor, 1, status.st_size - 1) != b"\n"
        self._claim()

    def _claim(self) -> None:
        """Say so where the file has another writer. Both may go on: the kernel ends a claim with its process."""
        if not self._shared:
            return
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._report(self._shared)
        except OSError:
            return  # a file system that has no locks

    def close(self) -> None:
        """Let go of the file, after a last try to write what is left."""
        if self._waiting:
            self._write()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def make_private(folder: Path) -> None:
    """Make a folder and those above it that are missing, for their owner alone. Raises OSError."""
    missing: list[Path] = []
    while not folder.is_dir() and folder != folder.parent:
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(one, 0o700)
