"""A transport that plays a recording in place of a CLI."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

from handrail.protocol.frames import BadLine
from handrail.protocol.lines import LineSplitter
from handrail.transport.base import Ending, Transport, TransportClosed
from handrail.transport.recording_file import Recording, read_recording
from handrail.transport.replay import Due, Replay

__all__ = ["ReplayTransport"]

AT_MOST = 256 * 1024


class ReplayTransport(Transport):
    """Plays a recording. `speed`: 0 = as fast as it is read, 1 = as it was recorded, 2 = twice as fast."""

    def __init__(self, recording: Recording | str | Path, *, speed: float = 0) -> None:
        if speed < 0:
            raise ValueError(f"speed must not be negative, got {speed}")
        self.recording = recording if isinstance(recording, Recording) else read_recording(recording)
        self.replay = Replay(self.recording)
        self.on_stderr: Callable[[bytes], None] | None = None
        self._speed = speed
        self._lines = LineSplitter()
        self._changed = asyncio.Event()
        self._held: tuple[float, Due] | None = None
        self._errors: list[bytes] = []
        self._closed = False

    async def start(self) -> None:
        """Nothing to do."""

    async def receive(self) -> bytes:
        loop = asyncio.get_running_loop()
        while not self._closed:
            self._changed.clear()
            if data := self.replay.at_once() or self._due(loop.time()):
                return data
            if self.replay.finished and self._held is None:
                break
            if not self.replay.has_at_once:
                await self._wait(self._held[0] - loop.time() if self._held else None)
        return b""

    async def send(self, data: bytes) -> None:
        if self._closed or (self.replay.finished and self._held is None):
            raise TransportClosed("the recorded process has ended")
        self._feed(self._lines.feed(data))

    async def end_input(self) -> None:
        self._feed(self._lines.finish())
        self.replay.end_input()

    async def close(self) -> Ending:
        self._closed = True
        self._changed.set()
        end = self.recording.end
        return Ending(code=end.code, signal=end.signal, stderr=self.stderr) if end else Ending(stderr=self.stderr)

    @property
    def stderr(self) -> str:
        return b"".join(self._errors).decode("utf-8", "replace")

    def _feed(self, lines: list[bytes | BadLine]) -> None:
        for line in lines:
            self.replay.feed(line.raw if isinstance(line, BadLine) else line)
        self._changed.set()

    def _due(self, now: float) -> bytes:
        """The output due by now, several rows at once if possible."""
        data = bytearray()
        while len(data) < AT_MOST:
            if self._held is None:
                due = self.replay.next_due()
                if due is None:
                    break
                self._held = (now + due.gap / self._speed if self._speed else now, due)
            if self._held[0] > now:
                break
            due, self._held = self._held[1], None
            if due.dir == "out":
                data += due.data
            else:
                self._take_stderr(due.data)
        return bytes(data)

    def _take_stderr(self, data: bytes) -> None:
        self._errors.append(data)
        if self.on_stderr:
            self.on_stderr(data)

    async def _wait(self, seconds: float | None) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
