"""An HTTP server on loopback that records requests and answers with given status codes."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """Recorded requests, and the status codes of the next answers; 200 when none are left."""

    answers: list[int] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)
            }
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            self.requests.append(Request(head[0].split()[1], headers, body))
            status = self.answers.pop(0) if self.answers else 200
            place = b"location: /elsewhere\r\n" if status == 302 else b""
            writer.write(b"HTTP/1.1 %d x\r\n%scontent-length: 0\r\nconnection: close\r\n\r\n" % (status, place))
            await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def receiving(*answers: int, tls: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    receiver = Receiver(list(answers))
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        await server.wait_closed()
