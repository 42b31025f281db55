"""Where the contents of files are kept. In: contents. Out: their names, and by a name the content again.

The name is the digest of the content, so that what is kept twice is there once. On disk, if there is a folder, beside
the session and for the owner alone; else in memory.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from handrail.agent.journal import make_private

__all__ = ["Store"]

_INDEX: Final = "index.jsonl"


class Store:
    """Contents by their digest, and the lines that say what they are."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._memory: dict[str, bytes] = {}

    def put(self, content: bytes) -> str:
        """Keep a content. Out: its name. Raises OSError."""
        name = _digest(content)
        if self._folder is None:
            self._memory[name] = content
        elif not (self._folder / name).exists():
            make_private(self._folder)
            _write(self._folder, name, content)
        return name

    def get(self, name: str) -> bytes | None:
        """A content; None where it is gone or is not what was kept."""
        if self._folder is None:
            return self._memory.get(name)
        try:
            content = (self._folder / name).read_bytes()
        except OSError:
            return None
        return content if _digest(content) == name else None

    def forget(self, names: Iterable[str]) -> None:
        """Keep these no longer."""
        for name in names:
            self._memory.pop(name, None)
            if self._folder is not None:
                with contextlib.suppress(OSError):
                    os.unlink(self._folder / name)

    # The lines

    def append(self, line: bytes) -> None:
        """One more line. Raises OSError."""
        if self._folder is None:
            return
        make_private(self._folder)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._folder / _INDEX, flags, 0o600)
        try:
            # A line that was cut off before must not swallow this one; empty lines are passed over.
            os.write(descriptor, b"\n" + line)
        finally:
            os.close(descriptor)

    def rewrite(self, lines: Iterable[bytes]) -> None:
        """These lines instead of all. Raises OSError."""
        if self._folder is not None:
            _write(self._folder, _INDEX, b"\n".join(lines))

    def lines(self) -> list[bytes]:
        """All lines."""
        if self._folder is None:
            return []
        try:
            return [line for line in (self._folder / _INDEX).read_bytes().split(b"\n") if line]
        except OSError:
            return []

    def take_from(self, folder: Path) -> None:
        """Take over all of another session. What is kept never changes, so both may share it."""
        if self._folder is None or folder == self._folder or not folder.is_dir():
            return
        with contextlib.suppress(OSError):
            make_private(self._folder)
            for found in os.scandir(folder):
                if found.is_file(follow_symlinks=False) and found.name != _INDEX:
                    with contextlib.suppress(FileExistsError):
                        os.link(found.path, self._folder / found.name, follow_symlinks=False)
            self.rewrite(Store(folder).lines())


def _digest(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()


def _write(folder: Path, name: str, content: bytes) -> None:
    """Write a file so that it is never seen in part."""
    unfinished = folder / f".{name}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(unfinished, flags, 0o600), "wb") as file:
            file.write(content)
        os.rename(unfinished, folder / name)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise
