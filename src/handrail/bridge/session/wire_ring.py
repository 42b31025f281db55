"""What went over the wire between a session and its CLI. In: frames, both ways. Out: the newest ones, without secrets.

Nothing of it is on record: it is for whoever looks for a fault now. Text as it is written has a ring of its own, or it
would drive out all else. Secrets are masked when somebody looks, as in recordings.
"""

from __future__ import annotations

import heapq
import io
import time
from collections import deque
from collections.abc import AsyncIterable, Callable, Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from handrail.protocol import Frame, Message
from handrail.transport.masking import Masker
from handrail.transport.recording_writer import RecordingWriter

__all__ = ["Snapshot", "WireRing"]

JsonObject = dict[str, Any]
Direction = Literal["in", "out"]
MOST_BYTES: Final = 1024 * 1024
MOST_STREAMED: Final = 256 * 1024
LONGEST: Final = 64 * 1024
"""A longer line is told by its size alone."""
COST: Final = 200
"""What an entry costs besides its bytes."""
_NAMES: Final[Mapping[Direction, str]] = {"in": "to_cli", "out": "from_cli"}


class _Entry(Struct, frozen=True):
    """One line. `raw` is empty where it was too long; `process`: the number of the process."""

    n: int
    time: int
    direction: Direction
    raw: bytes
    size: int
    process: int


class _Ring:
    """The newest entries, with no more bytes than so many."""

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

    async def follow(self, frames: AsyncIterable[tuple[Direction, Frame]], environment: Mapping[str, str]) -> None:
        """Take all frames of a new process until it ends. In: them, and its environment, for the secrets in it."""
        self._process += 1
        self._environment = dict(environment)
        async for direction, frame in frames:
            self.put(direction, frame)

    def put(self, direction: Direction, frame: Frame) -> None:
        """One more."""
        self._last += 1
        size = len(frame.raw)
        raw = frame.raw if size <= LONGEST else b""
        ring = self._streamed if type(frame) is Message and frame.type == "stream_event" else self._whole
        ring.put(_Entry(self._last, round(self._clock() * 1000), direction, raw, size, self._process))

    def snapshot(self) -> Snapshot:
        """As it is now: to be looked at in a thread, for to look for secrets takes its time."""
        entries = heapq.merge(self._whole.entries, self._streamed.entries, key=lambda one: one.n)
        return Snapshot(list(entries), self._last, self._process, self._environment)


class Snapshot(Struct, frozen=True):
    """A ring at one moment."""

    entries: list[_Entry]
    last: int
    process: int
    environment: Mapping[str, str]

    def shown(self, after: int = 0) -> JsonObject:
        """The frames after a number, in order: whole, as text where one is no JSON, by its size where it is long."""
        masker = Masker(self.environment)
        frames = [_shown(one, masker) for one in self.entries if one.n > after]
        return {"first": self.entries[0].n if self.entries else self.last + 1, "last": self.last, "frames": frames}

    def recording(self) -> bytes:
        """What is still known of the last process, as a recording. A line that was too long is a line that says so."""
        entries = [one for one in self.entries if one.process == self.process]
        now = entries[0].time if entries else 0
        file = io.BytesIO()
        writer = RecordingWriter(file, environment=self.environment, clock=lambda: now / 1000)
        for one in entries:
            now = one.time
            omitted = b'{"type":"handrail_omitted","bytes":%d}' % one.size
            writer.take(one.direction, (one.raw or omitted) + b"\n")
        found = file.getvalue()
        writer.abandon()
        return found


def _shown(one: _Entry, masker: Masker) -> JsonObject:
    shown: JsonObject = {"n": one.n, "time": one.time, "direction": _NAMES[one.direction]}
    if not one.raw:
        return {**shown, "bytes": one.size}
    masked = masker.mask_bytes(one.raw)
    try:
        msgspec.json.decode(masked)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {**shown, "text": masked.decode(errors="replace")}
    return {**shown, "frame": msgspec.Raw(masked)}
