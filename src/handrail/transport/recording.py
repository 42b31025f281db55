"""A transport that records another one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from handrail.transport.base import Ending, Transport
from handrail.transport.recording_writer import RecordingWriter, create_recording_file

__all__ = ["RecordingTransport"]


class RecordingTransport(Transport):
    """Passes everything through unchanged and records it, with secrets masked.

    `argv` is stored in the header; `secrets` is the environment of the child, whose secret values are masked. A path is
    created at start and must not exist unless `overwrite` is set; a file object is closed at the end.
    """

    def __init__(
        self,
        inner: Transport,
        path_or_file: str | Path | BinaryIO,
        *,
        argv: Sequence[str] = (),
        secrets: Mapping[str, str] | None = None,
        overwrite: bool = False,
    ) -> None:
        self.inner = inner
        self.can_control = inner.can_control
        self._target = path_or_file
        self._argv, self._secrets, self._overwrite = argv, secrets, overwrite
        self._writer: RecordingWriter | None = None
        self._ending: Ending | None = None
        self._ended = {"in": False, "out": False}
        self._has_stderr = hasattr(inner, "on_stderr")
        self.on_stderr: Callable[[bytes], None] | None = getattr(inner, "on_stderr", None)

    @property
    def incomplete(self) -> bool:
        """Whether writing the file failed."""
        return self._writer is not None and bool(self._writer.failure)

    async def start(self) -> None:
        target = self._target
        file = create_recording_file(target, overwrite=self._overwrite) if isinstance(target, str | Path) else target
        self._writer = RecordingWriter(file, argv=self._argv, environment=self._secrets)
        if self._has_stderr:
            setattr(self.inner, "on_stderr", self._take_stderr)  # noqa: B010 - only some transports have it
        try:
            await self.inner.start()
        except BaseException:
            self._writer.abandon()
            if isinstance(target, str | Path):  # nothing was recorded, so remove the file
                with contextlib.suppress(OSError):
                    os.unlink(target)
            raise

    async def receive(self) -> bytes:
        data = await self.inner.receive()
        if not data:
            self._ended["out"] = True
        elif self._writer:
            self._writer.take("out", data)
        return data

    async def send(self, data: bytes) -> None:
        # Recorded first, so that the answer comes after it in the file.
        if self._writer:
            self._writer.take("in", data)
        await self.inner.send(data)

    async def end_input(self) -> None:
        self._note_end_of_input()
        await self.inner.end_input()

    async def close(self) -> Ending:
        if not self._ended["out"]:
            self._note_end_of_input()
        ending = await self.inner.close()
        if self._ending is None:
            self._ending = ending
            if self._writer:
                if not self._has_stderr:
                    self._writer.take("err", (self.inner.stderr or ending.stderr).encode("utf-8", "surrogateescape"))
                self._writer.end(ending.code, ending.signal)
        return ending

    @property
    def stderr(self) -> str:
        return self.inner.stderr

    @property
    def pid(self) -> int | None:
        return self.inner.pid

    def _note_end_of_input(self) -> None:
        if self._writer and not self._ended["in"]:
            self._writer.end_input()
        self._ended["in"] = True

    def _take_stderr(self, data: bytes) -> None:
        if self._writer:
            self._writer.take("err", data)
        if self.on_stderr:
            self.on_stderr(data)
