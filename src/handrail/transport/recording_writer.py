"""Writes a recording while it happens. In: the bytes of each direction. Out: the file, one flushed row per line.

Lines are masked when they are whole, so a secret that comes in two pieces is still found. Whatever goes wrong with the
file is told once and never reaches the conversation: the recording is then incomplete.
"""

from __future__ import annotations

import base64
import logging
import os
import stat
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from handrail.transport.masking import Masker
from handrail.transport.recording_file import VERSION, Direction

__all__ = ["RecordingWriter", "create_recording_file"]

LONGEST_LINE = 64 * 1024 * 1024
"""A longer line is written in pieces, so that no line can fill the memory."""

_log = logging.getLogger("handrail.recording")


def create_recording_file(path: str | Path, *, overwrite: bool = False) -> BinaryIO:
    """A new file that only its owner can read. Out: the open file; FileExistsError unless it may be overwritten."""
    path = Path(path)
    if overwrite and (path.is_symlink() or path.exists()):
        if not stat.S_ISREG(path.lstat().st_mode) and not path.is_symlink():
            raise FileExistsError(f"{path} exists and is not a file; choose another name")
        path.unlink()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise FileExistsError(f"{path} exists; choose another name or remove it first") from None
    return os.fdopen(descriptor, "wb", buffering=0)


class RecordingWriter:
    """One recording in the making; safe to use from several threads."""

    def __init__(
        self,
        file: BinaryIO,
        *,
        argv: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.failure = ""
        """Why the recording is incomplete; empty as long as it is not."""
        self.lines = 0
        self._file = file
        self._closed = False
        self._masker = Masker(environment)
        self._clock = clock
        self._start = clock()
        self._open_lines: dict[Direction, bytearray] = {"in": bytearray(), "out": bytearray(), "err": bytearray()}
        self._lock = threading.Lock()
        started = datetime.now(UTC).isoformat(timespec="milliseconds")
        masked = self._masker.mask_argv(argv)
        self._write({"handrail": "recording", "version": VERSION, "argv": masked, "started": started})

    def take(self, direction: Direction, data: bytes) -> None:
        """Bytes went over the wire. In: which way, and the bytes as they came."""
        with self._lock:
            held = self._open_lines[direction]
            *whole, rest = data.split(b"\n")
            for line in whole:
                self._row(direction, bytes(held) + line if held else line)
                held.clear()
            held += rest
            if len(held) > LONGEST_LINE:
                self._cut(direction)

    def end_input(self) -> None:
        """Nothing more will be sent to the CLI."""
        with self._lock:
            self._flush("in")
            self._write({"t": self._now(), "dir": "in", "eof": True})

    def end(self, code: int | None = None, signal: str | None = None) -> None:
        """The process has ended. In: its exit code or the name of the signal. The file is closed."""
        with self._lock:
            for direction in self._open_lines:
                self._flush(direction)
            ending: dict[str, Any] = {"t": self._now(), "exit": code}
            self._write(ending | {"signal": signal} if signal else ending)
            self._close()

    def abandon(self) -> None:
        """Close the file as it is; what is read from it is then an incomplete recording."""
        with self._lock:
            self._close()

    def _now(self) -> float:
        return round(self._clock() - self._start, 6)

    def _row(self, direction: Direction, line: bytes, **marks: bool) -> None:
        line = self._masker.mask_bytes(line)
        row: dict[str, Any] = {"t": self._now(), "dir": direction}
        try:
            row["raw"] = line.decode()
        except UnicodeDecodeError:
            row["b64"] = base64.b64encode(line).decode()
        self.lines += 1
        self._write(row | marks)

    def _flush(self, direction: Direction) -> None:
        held = self._open_lines[direction]
        if held:
            self._row(direction, bytes(held), cut=True)
            held.clear()

    def _cut(self, direction: Direction) -> None:
        """Write the first part of a line that is too long, up to a place where no secret can be torn apart."""
        held = self._open_lines[direction]
        place = max(held.rfind(mark, len(held) // 2) for mark in (b'"', b" ")) + 1 or len(held)
        self._row(direction, bytes(held[:place]), cut=True)
        del held[:place]

    def _write(self, row: Mapping[str, Any]) -> None:
        if self.failure or self._closed:
            return
        try:
            left = memoryview(msgspec.json.encode(row) + b"\n")
            while left:
                left = left[self._file.write(left) :]
            self._file.flush()
        except (OSError, ValueError) as error:
            self.failure = str(error)
            _log.warning("the recording is incomplete: %s", error)

    def _close(self) -> None:
        self._closed = True
        try:
            self._file.close()
        except OSError as error:
            self.failure = self.failure or str(error)
