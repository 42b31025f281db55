"""A TCP proxy on loopback that simulates a bad link."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Self

__all__ = ["FaultProxy"]

PIECE = 16 * 1024


class FaultProxy:
    """Forwards bytes to a port. `cut` resets all connections and `stall` holds all bytes; `gone` discards them, like an
    unplugged cable; `refuses` rejects new connections; `bytes_per_second` limits the rate towards the client."""

    def __init__(self, port: int) -> None:
        self._to = port
        self.port = 0
        self.connections = 0
        self.gone = self.refuses = False
        self.bytes_per_second = 0
        self._flows = asyncio.Event()
        self._flows.set()
        self._open: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._passing: set[asyncio.Task[None]] = set()

    def leads_to(self, port: int) -> None:
        """Forward to another port."""
        self._to = port

    @property
    def url(self) -> tuple[str, int]:
        """The URL of the server, and the port of the proxy to connect to."""
        return f"ws://127.0.0.1:{self._to}/ws", self.port

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        for task in self._passing:
            task.cancel()
        await asyncio.gather(*self._passing, return_exceptions=True)
        self.cut()
        await asyncio.sleep(0)  # aborted transports close in the next loop iteration

    def cut(self) -> bool:
        """Reset every connection, in the middle of its data; returns whether there was one."""
        was_open = bool(self._open)
        for writer in self._open:
            writer.transport.abort()
        self._open.clear()
        return was_open

    def stall(self) -> None:
        """Hold all bytes; connections stay open."""
        self._flows.clear()

    def flow(self) -> None:
        """Forward bytes again."""
        self._flows.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refuses:
            writer.transport.abort()
            return
        self._open.add(writer)
        accepting = asyncio.current_task()
        assert accepting is not None
        self._passing.add(accepting)
        accepting.add_done_callback(self._passing.discard)
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._to, limit=PIECE)
        except OSError:
            writer.transport.abort()
            self._open.discard(writer)
            return
        if writer not in self._open:  # cut meanwhile
            back.transport.abort()
            return
        self.connections += 1
        self._open.add(back)
        for task in (self._pass(reader, back, 0), self._pass(there, writer, 1)):
            running = asyncio.create_task(task)
            self._passing.add(running)
            running.add_done_callback(self._passing.discard)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, to_client: int) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(PIECE):
                await self._flows.wait()
                if self.gone:
                    continue
                for piece in self._pieces(data) if to_client else (data,):
                    writer.write(piece)
                    await writer.drain()
                    if to_client and self.bytes_per_second:
                        await asyncio.sleep(len(piece) / self.bytes_per_second)
        if not self.gone:
            writer.transport.abort()
            self._open.discard(writer)

    def _pieces(self, data: bytes) -> list[bytes]:
        size = max(1, self.bytes_per_second // 4) or len(data)
        if not self.bytes_per_second:
            return [data]
        return [data[start : start + size] for start in range(0, len(data), size)]
