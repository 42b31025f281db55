"""A client that does not keep to the rules. In: bytes, headers, frames of any kind. Out: what the server said to them.

It sends what it is told to, byte by byte: paths are not made tidy, headers not completed.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
from collections.abc import AsyncGenerator
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
import websockets
from msgspec import Struct
from websockets.typing import Subprotocol

__all__ = ["PNG", "GotThrough", "Heard", "Probe", "Way"]

SECONDS: Final = 10.0
PNG: Final = b"\x89PNG\r\n\x1a\n<script>window.__xss=1</script>"
"""What begins like a picture and goes on like a page."""
KEY: Final = "dGhlIHNhbXBsZSBub25jZQ=="
EXAMPLES: Final = {"id": "11111111-1111-1111-1111-111111111111", "seq": "1", "device": "0" * 16}
"""What stands in a path for a name in braces: nothing that is there."""
_NAMED: Final = re.compile(r"\{(\w+)\}")


class GotThrough(Exception):
    """The server did what it should not have done."""


class Heard(Struct, frozen=True):
    """An answer. Status 0: the connection was ended without one."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, where it is JSON."""
        return msgspec.json.decode(self.body)


class Way(Struct, frozen=True):
    """A way in, as the server lists it. `scope` is "" where no login is needed; `path` has an example for each name."""

    method: str
    path: str
    scope: str = ""

    @property
    def changes(self) -> bool:
        """Does it do something?"""
        return self.method != "GET"


class Probe:
    """Who attacks: somebody with a token that may do everything, who tries what happens without.

    `tls`: how the server is known, for the token goes to whoever answers; else by those whom the machine trusts.
    """

    def __init__(self, address: str, token: str, *, patient: bool = False, tls: ssl.SSLContext | None = None) -> None:
        parts = urlsplit(address)
        self.address, self.token, self.patient = address.rstrip("/"), token, patient
        self.secure = parts.scheme == "https"
        self.name = parts.hostname or "127.0.0.1"
        self.port = parts.port or (443 if self.secure else 80)
        self.host = parts.netloc
        self.cookie = f"{'__Host-' if self.secure else ''}handrail-{self.port}"
        self._made: list[str] = []
        self._ways: list[Way] = []
        self.sockets: list[str] = ["/ws"]
        """Where sockets are, once the ways in were asked for."""
        self._tls = (tls or ssl.create_default_context()) if self.secure else None

    # What there is to attack

    async def ways(self) -> list[Way]:
        """All ways in, from the server's own list. GotThrough where that cannot be."""
        if not self._ways:
            listed = self.expect(await self.ask("GET", "/api/openapi.json"), 200, what="the list of routes").json
            for path, methods in listed["paths"].items():
                example = _NAMED.sub(lambda found: EXAMPLES[found[1]], path)
                self._ways += [Way(method.upper(), example, row.get("x-scope", "")) for method, row in methods.items()]
            self.sockets = listed.get("x-sockets", self.sockets)
        return self._ways

    async def closed(self) -> list[Way]:
        """Those that need a login."""
        found = [way for way in await self.ways() if way.scope]
        if not found:
            raise GotThrough("no route needs a login")
        return found

    # HTTP

    @contextlib.asynccontextmanager
    async def connection(self) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """A bare connection."""
        reader, writer = await asyncio.open_connection(self.name, self.port, ssl=self._tls)
        try:
            yield reader, writer
        finally:
            writer.close()
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(1):
                    await writer.wait_closed()

    async def raw(self, data: bytes, *, seconds: float = SECONDS) -> Heard:
        """Send bytes, hear one answer."""
        async with self.connection() as (reader, writer):
            with contextlib.suppress(ConnectionError):
                writer.write(data)
                await writer.drain()
            try:
                async with asyncio.timeout(seconds):
                    return await _heard(reader, head=data.startswith(b"HEAD "))
            except (ConnectionError, asyncio.IncompleteReadError, TimeoutError):
                return Heard(0, {}, b"")

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = None,
        **headers: str,
    ) -> Heard:
        """One request. `token`: None for ours, "" for none. A header that is "" is left out."""
        data = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
        given = {"host": self.host, "connection": "close", "content_type": "application/json" if data else ""}
        used = self.token if token is None else token
        told = {**given, "authorization": f"Bearer {used}" if used else "", **headers}
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in told.items() if value]
        if data or method not in ("GET", "HEAD", "OPTIONS"):
            lines.append(f"content-length: {len(data)}")
        return await self.raw("\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode("utf-8") + data)

    # Sockets

    async def upgrade(
        self, path: str = "/ws", *, token: str = "", protocols: str = "handrail.v1", **headers: str
    ) -> Heard:
        """Try to open a socket. Out: what was said before the first frame."""
        socket = {"upgrade": "websocket", "connection": "Upgrade", "sec-websocket-version": "13"}
        socket |= {"sec_websocket_key": KEY, "sec_websocket_protocol": protocols}
        return await self.ask("GET", path, token=token, **{**socket, **headers})

    def socket(self, token: str | None = None, **options: Any) -> Any:
        """A socket that is let in."""
        told = {"Authorization": f"Bearer {self.token if token is None else token}"}
        address = self.address.replace("http", "ws", 1) + "/ws"
        return websockets.connect(
            address,
            additional_headers=told,
            subprotocols=[Subprotocol("handrail.v1")],
            proxy=None,
            max_size=None,
            ssl=self._tls,
            **options,
        )

    async def closing(self, *frames: str) -> int:
        """Say these on a socket. Out: the code with which the server ends it; 0 where it does not."""
        async with self.socket() as socket:
            try:
                async with asyncio.timeout(SECONDS):
                    for frame in frames:
                        await socket.send(frame)
                    while True:
                        await socket.recv()
            except websockets.ConnectionClosed as closed:
                return closed.rcvd.code if closed.rcvd else 1006
            except TimeoutError:
                return 0

    # Devices of our own

    async def device(self, *scopes: str) -> str:
        """The token of one more device. It is revoked when all is over."""
        heard = await self.ask("POST", "/api/devices", {"name": "an attack", "scopes": list(scopes) or ["view"]})
        if heard.status != 201:
            raise GotThrough(f"no device could be made to attack with: {heard.status}")
        self._made.append(heard.json["device"]["id"])
        return heard.json["token"]

    async def revoke(self, token: str) -> None:
        """Out with a device."""
        await self.ask("DELETE", f"/api/devices/{token.partition('.')[0]}")

    async def tidy(self) -> None:
        """Revoke all that were made."""
        for id in self._made:
            await self.ask("DELETE", f"/api/devices/{id}")

    async def command(self, command: str, **fields: Any) -> Heard:
        """A command, under an id that was never used."""
        body = {"id": f"attack-{id(fields)}-{asyncio.get_running_loop().time()}", "command": command, "fields": fields}
        return await self.ask("POST", "/api/commands", body)

    # Judging

    def expect(self, heard: Heard, *statuses: int, what: str = "") -> Heard:
        """GotThrough where the status is none of these."""
        if heard.status not in statuses:
            wanted = " or ".join(map(str, statuses))
            raise GotThrough(f"{what or 'the server'} answered {heard.status}, not {wanted}")
        return heard


async def _heard(reader: asyncio.StreamReader, *, head: bool) -> Heard:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    status = int(lines[0].split(" ")[1])
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:]) if name}
    if status == 101 or head:
        return Heard(status, headers, b"")
    if "content-length" in headers:
        return Heard(status, headers, await reader.readexactly(int(headers["content-length"])))
    return Heard(status, headers, await reader.read(1024 * 1024))
