"""Appends JSON lines to a file, and retries later what cannot be written now.

A line is one write to the end of the file: a killed process loses nothing it has written, and two processes that write
to one file both leave whole lines. Lines that a full disk refuses are held in memory, within a limit, and written
before the next line; a line that was written in part is written again on a new line. Each failure is reported once.
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
"""Bytes of unwritten lines that are held in memory."""
_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Journal:
    """One file below `root`. The first line creates it and its folders, readable by their owner only."""

    def __init__(self, root: Path, path: Path, *, report: Callable[[str], None], shared: str = "") -> None:
        self._root, self.path, self._report = root, path, report
        self._shared = shared
        """The warning for a file that another process has open too; "" for no warning."""
        self._descriptor = -1
        self._torn = False
        self._waiting: deque[bytes] = deque()
        self._waiting_size = 0
        self.failed = ""
        """Why the last line could not be written; empty if it was."""

    def append(self, data: bytes) -> None:
        """Append one or more lines, each with its newline."""
        if self._waiting and self._waiting_size + len(data) > KEPT_LIMIT:
            return  # the failure was reported already, and memory is limited
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
                    f"The session cannot be saved: {self.failed}. It continues, and is saved as soon as that is"
                    " possible; if this process ends before, the unsaved part is lost."
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
            raise OSError(errno.EINVAL, "not a regular file")
        self._descriptor = descriptor
        self._torn = status.st_size > 0 and os.pread(descriptor, 1, status.st_size - 1) != b"\n"
        self._claim()

    def _claim(self) -> None:
        """Warn if another process writes to the file; both may continue. The kernel releases the lock at exit."""
        if not self._shared:
            return
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._report(self._shared)
        except OSError:
            return  # the file system does not support locks

    def close(self) -> None:
        """Close the file, after a last attempt to write the remaining lines."""
        if self._waiting:
            self._write()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def make_private(folder: Path) -> None:
    """Create a folder and its missing parents, readable by their owner only. Raises OSError."""
    missing: list[Path] = []
    while not folder.is_dir() and folder != folder.parent:
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(one, 0o700)
