"""The newest frames between a session and its CLI, for debugging. They are kept in memory only.

Streamed deltas have a separate ring, because their number would displace everything else. Secrets are masked
when the frames are read, as in recordings.
"""

from __future__ import annotations

import heapq
import io
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from handrail.protocol import Frame, Message
from handrail.transport.delta_masking import DeltaMasker
from handrail.transport.masking import Masker
from handrail.transport.recording_writer import RecordingWriter

__all__ = ["Snapshot", "WireRing"]

JsonObject = dict[str, Any]
Direction = Literal["in", "out"]
MOST_BYTES: Final = 1024 * 1024
MOST_STREAMED: Final = 256 * 1024
LONGEST: Final = 64 * 1024
"""Of a longer line only the size is kept."""
COST: Final = 200
"""Estimated bytes of memory per entry, in addition to the line."""
_NAMES: Final[Mapping[Direction, str]] = {"in": "to_cli", "out": "from_cli"}


class _Entry(Struct, frozen=True):
    """One line. `raw` is empty if the line was too long; `process` counts the processes of the session."""

    n: int
    time: int
    direction: Direction
    raw: bytes
    size: int
    process: int


class _Ring:
    """The newest entries, up to a number of bytes."""

    def __init__(self, most: int) -> None:
        self.entries: deque[_Entry] = deque()
        self._most, self._bytes = most, 0

    def put(self, entry: _Entry) -> None:
        self.entries.append(entry)
        self._bytes += len(entry.raw) + COST
        while self._bytes > self._most:
            self._bytes -= len(self.entries.popleft().raw) + COST


class WireRing:
    """The frames of one session's processes. `clock` is in seconds since 1970."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._whole, self._streamed = _Ring(MOST_BYTES), _Ring(MOST_STREAMED)
        self._last = self._process = 0
        self._environment: Mapping[str, str] = {}

    def begin(self, environment: Mapping[str, str]) -> None:
        """The next frames are those of a new process. Values of secret variables in `environment` will be masked."""
        self._process += 1
        self._environment = dict(environment)

    def put(self, direction: Direction, frame: Frame) -> None:
        """Add a frame."""
        self._last += 1
        size = len(frame.raw)
        raw = frame.raw if size <= LONGEST else b""
        ring = self._streamed if type(frame) is Message and frame.type == "stream_event" else self._whole
        ring.put(_Entry(self._last, round(self._clock() * 1000), direction, raw, size, self._process))

    def snapshot(self) -> Snapshot:
        """The current content. Read it in a thread: masking takes long."""
        entries = heapq.merge(self._whole.entries, self._streamed.entries, key=lambda entry: entry.n)
        return Snapshot(list(entries), self._last, self._process, self._environment)


class Snapshot(Struct, frozen=True):
    """The content of a ring at one moment."""

    entries: list[_Entry]
    last: int
    process: int
    environment: Mapping[str, str]

    def shown(self, after: int = 0) -> JsonObject:
        """The frames after a number, in order: as JSON, as text if a line is invalid, as a size if it was too long."""
        # Earlier frames too: a secret may begin in one that is not shown.
        masker = DeltaMasker[_Entry](Masker(self.environment))
        masked = [pair for entry in self.entries for pair in masker.put(entry.raw, entry)]
        frames = [_shown(entry, line) for entry, line in (*masked, *masker.flush()) if entry.n > after]
        return {"first": self.entries[0].n if self.entries else self.last + 1, "last": self.last, "frames": frames}

    def recording(self) -> bytes:
        """The remaining frames of the last process as a recording, with placeholders for lines that were too long."""
        entries = [entry for entry in self.entries if entry.process == self.process]
        now = entries[0].time if entries else 0
        file = io.BytesIO()
        writer = RecordingWriter(file, environment=self.environment, clock=lambda: now / 1000)
        for entry in entries:
            now = entry.time
            omitted = b'{"type":"handrail_omitted","bytes":%d}' % entry.size
            writer.take(entry.direction, (entry.raw or omitted) + b"\n")
        writer.release()
        found = file.getvalue()
        writer.abandon()
        return found


def _shown(entry: _Entry, masked: bytes) -> JsonObject:
    shown: JsonObject = {"n": entry.n, "time": entry.time, "direction": _NAMES[entry.direction]}
    if not entry.raw:
        return {**shown, "bytes": entry.size}
    try:
        msgspec.json.decode(masked)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {**shown, "text": masked.decode(errors="replace")}
    return {**shown, "frame": msgspec.Raw(masked)}
