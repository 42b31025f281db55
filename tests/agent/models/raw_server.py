"""A server that sends given bytes, and keeps the heads of the requests."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class RawServer:
    """`answers` are sent in turn, the last one again and again; each as a list of pieces, flushed one by one."""

    def __init__(self, *answers: list[bytes]) -> None:
        self.answers = list(answers)
        self.heads: list[str] = []
        self.connections = 0
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.heads.append(head)
                length = next((line for line in head.lower().splitlines() if line.startswith("content-length")), ":0")
                await reader.readexactly(int(length.partition(":")[2]))
                for piece in self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]:
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def raw_server(*answers: list[bytes], tls: ssl.SSLContext | None = None) -> AsyncIterator[RawServer]:
    server = RawServer(*answers)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    server.url = f"http{'s' if tls else ''}://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listening.close()


def response(body: bytes, *, status: str = "200 OK", headers: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n{headers}\r\n".encode() + body


def streamed(*events: bytes) -> list[bytes]:
    """A chunked response, one piece for the head and one for each chunk."""
    chunks = [b"%x\r\n%b\r\n" % (len(event), event) for event in events]
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return [head, *chunks, b"0\r\n\r\n"]
