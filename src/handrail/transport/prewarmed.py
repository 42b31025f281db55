"""A transport to a process that was started before its session was known."""

from __future__ import annotations

from collections.abc import Callable

from handrail.transport.base import Ending, Transport, TransportClosed
from handrail.transport.process import ProcessTransport
from handrail.transport.start_message import Start

__all__ = ["PrewarmedTransport"]


class PrewarmedTransport(Transport):
    """Gives the session to a waiting process, or to a `new` one if the waiting one has exited meanwhile.

    `folder` is removed if this process dies.
    """

    def __init__(
        self, waiting: ProcessTransport, start: Start, new: Callable[[], ProcessTransport], *, folder: str = ""
    ) -> None:
        self._process, self._start, self._new, self._folder = waiting, start, new, folder

    async def start(self) -> None:
        self._process.guard_folder(self._folder)
        try:
            await self._process.send(self._start.encode())
        except TransportClosed:
            await self._process.close()
            self._process = self._new()
            await self._process.start()

    async def receive(self) -> bytes:
        return await self._process.receive()

    async def send(self, data: bytes) -> None:
        await self._process.send(data)

    async def end_input(self) -> None:
        await self._process.end_input()

    async def close(self) -> Ending:
        return await self._process.close()

    @property
    def stderr(self) -> str:
        return self._process.stderr

    @property
    def pid(self) -> int | None:
        return self._process.pid
