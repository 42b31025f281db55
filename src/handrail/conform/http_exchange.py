"""The server's side of one HTTP/1.1 request and its response.

Supports only what clients of the Messages API use: a body with a Content-Length, and one request per connection.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from http.client import responses

from handrail.errors import PeerError

BODY_LIMIT = 64 * 1024 * 1024
NEWLINE = b"\r\n"


class BadRequestError(PeerError):
    """An invalid request, with the HTTP status of the response."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(slots=True)
class HttpRequest:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class HttpExchange:
    """A connection that carries one request and one response."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._headers_only = False

    async def request(self) -> HttpRequest:
        """Read the request. Raises BadRequestError, and EOFError if the client disconnects too early."""
        try:
            head = await self._reader.readuntil(NEWLINE * 2)
        except asyncio.LimitOverrunError:
            raise BadRequestError(431, "the headers are too long") from None
        first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        words = first.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            raise BadRequestError(400, "malformed HTTP/1.1 request")
        self._headers_only = words[0] == "HEAD"
        fields = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in fields}
        return HttpRequest(words[0], words[1].partition("?")[0], headers, await self._body(headers))

    async def _body(self, headers: dict[str, str]) -> bytes:
        if "transfer-encoding" in headers:
            raise BadRequestError(411, "send the body with a Content-Length")
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            raise BadRequestError(400, "Content-Length is not a number")
        if len(length) > len(str(BODY_LIMIT)) or int(length) > BODY_LIMIT:
            raise BadRequestError(413, f"the body is larger than {BODY_LIMIT} bytes")
        if headers.get("expect", "").lower() == "100-continue":
            self._writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return await self._reader.readexactly(int(length))

    async def disconnected(self) -> None:
        """Return when the client has closed the connection."""
        while await self._reader.read(65536):
            pass

    async def send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        """Send a complete response."""
        self._head(status, {**headers, "content-length": str(len(body))})
        if not self._headers_only:
            self._writer.write(body)
        await self._writer.drain()

    async def start(self, status: int, headers: dict[str, str]) -> None:
        """Send the head of a chunked response; `chunk` and `finish` send the rest."""
        self._head(status, {**headers, "transfer-encoding": "chunked"})
        await self._writer.drain()

    async def chunk(self, data: bytes) -> None:
        self._writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await self._writer.drain()

    async def finish(self) -> None:
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    async def close(self) -> None:
        """Close the connection after sending buffered data."""
        self._writer.close()
        await self._writer.wait_closed()

    def abort(self) -> None:
        """Close the connection at once and discard buffered data."""
        self._writer.transport.abort()

    def _head(self, status: int, headers: dict[str, str]) -> None:
        lines = [
            f"HTTP/1.1 {status} {responses.get(status, 'Scripted')}",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        self._writer.write("\r\n".join([*lines, "connection: close", "", ""]).encode("utf-8"))
