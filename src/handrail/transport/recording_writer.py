"""Writes a recording, one flushed row per line.

Only whole lines are masked, so a secret that arrives in two pieces is still found. A failure to write is logged once
and never affects the conversation; the recording is then incomplete.
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

from handrail.platform import RAW
from handrail.transport.delta_masking import DeltaMasker
from handrail.transport.masking import Masker
from handrail.transport.recording_file import VERSION, Direction

__all__ = ["RecordingWriter", "create_recording_file"]

LONGEST_LINE = 64 * 1024 * 1024
"""Longer lines are written in pieces, to limit memory."""

_log = logging.getLogger("handrail.recording")


def create_recording_file(path: str | Path, *, overwrite: bool = False) -> BinaryIO:
    """Create a file with mode 0600. Raises FileExistsError unless `overwrite` is set."""
    path = Path(path)
    if overwrite and (path.is_symlink() or path.exists()):
        if not stat.S_ISREG(path.lstat().st_mode) and not path.is_symlink():
            raise FileExistsError(f"{path} exists and is not a file; choose another name")
        path.unlink()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | RAW, 0o600)
    except FileExistsError:
        raise FileExistsError(f"{path} exists; choose another name or remove it first") from None
    return os.fdopen(descriptor, "wb", buffering=0)


class RecordingWriter:
    """Writes one recording. Thread-safe."""

    def __init__(
        self,
        file: BinaryIO,
        *,
        argv: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.failure = ""
        """Why the recording is incomplete, or ""."""
        self.lines = 0
        self._file = file
        self._closed = False
        self._masker = Masker(environment)
        self._held = DeltaMasker[tuple[float, Direction, dict[str, bool]]](self._masker)
        self._clock = clock
        self._start = clock()
        self._open_lines: dict[Direction, bytearray] = {"in": bytearray(), "out": bytearray(), "err": bytearray()}
        self._lock = threading.Lock()
        started = datetime.now(UTC).isoformat(timespec="milliseconds")
        masked = self._masker.mask_argv(argv)
        self._write({"handrail": "recording", "version": VERSION, "argv": masked, "started": started})

    def take(self, direction: Direction, data: bytes) -> None:
        """Record bytes of one direction, in chunks of any size."""
        with self._lock:
            held = self._open_lines[direction]
            *whole, rest = data.split(b"\n")
            for line in whole:
                self._row(direction, bytes(held) + line if held else line)
                held.clear()
            held += rest
            if len(held) > LONGEST_LINE:
                self._cut(direction)

    def release(self) -> None:
        """Write the lines that are held back to find secrets that reach from one to the next."""
        with self._lock:
            self._write_rows(self._held.flush())

    def end_input(self) -> None:
        """Record the end of the input of the CLI."""
        with self._lock:
            self._flush("in")
            self._write_rows(self._held.flush())
            self._write({"t": self._now(), "dir": "in", "eof": True})

    def end(self, code: int | None = None, signal: str | None = None) -> None:
        """Record the end of the process and close the file."""
        with self._lock:
            for direction in self._open_lines:
                self._flush(direction)
            self._write_rows(self._held.flush())
            ending: dict[str, Any] = {"t": self._now(), "exit": code}
            self._write(ending | {"signal": signal} if signal else ending)
            self._close()

    def abandon(self) -> None:
        """Close the file without an end; the recording is then incomplete."""
        with self._lock:
            self._write_rows(self._held.flush())
            self._close()

    def _now(self) -> float:
        return round(self._clock() - self._start, 6)

    def _row(self, direction: Direction, line: bytes, **marks: bool) -> None:
        self.lines += 1
        self._write_rows(self._held.put(line, (self._now(), direction, marks)))

    def _write_rows(self, rows: list[tuple[tuple[float, Direction, dict[str, bool]], bytes]]) -> None:
        for (at, direction, marks), line in rows:
            row: dict[str, Any] = {"t": at, "dir": direction}
            try:
                row["raw"] = line.decode()
            except UnicodeDecodeError:
                row["b64"] = base64.b64encode(line).decode()
            self._write(row | marks)

    def _flush(self, direction: Direction) -> None:
        held = self._open_lines[direction]
        if held:
            self._row(direction, bytes(held), cut=True)
            held.clear()

    def _cut(self, direction: Direction) -> None:
        """Write the first part of a very long line, up to a quote or a space, so that no secret is split."""
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
