"""A client that ignores the rules: it sends bytes, headers and frames exactly as given.

It does not normalise paths, and it adds no header that was not asked for.
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

from handrail.errors import PeerError

__all__ = ["EXAMPLES", "PNG", "SECONDS", "UNKNOWN_SESSION", "AttackSucceeded", "Probe", "Response", "Route"]

SECONDS: Final = 10.0
PNG: Final = b"\x89PNG\r\n\x1a\n<script>window.__xss=1</script>"
"""Starts like an image and continues like a page."""
UNKNOWN_SESSION: Final = "11111111-1111-1111-1111-111111111111"
EXAMPLES: Final = {"id": UNKNOWN_SESSION, "seq": "1", "device": "0" * 16}
"""Values for the parameters of a path. None of them exists on the server."""
_KEY: Final = "dGhlIHNhbXBsZSBub25jZQ=="
_PARAMETER: Final = re.compile(r"\{(\w+)\}")


class AttackSucceeded(PeerError):
    """The server did something that it must refuse; the message says what."""


class Response(Struct, frozen=True):
    """An HTTP response. Status 0 means that the connection was closed without one."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The decoded JSON body."""
        return msgspec.json.decode(self.body)


class Route(Struct, frozen=True):
    """A route that the server lists, with example values in its path. `scope` is "" if it needs no login."""

    method: str
    path: str
    scope: str = ""

    @property
    def changes(self) -> bool:
        """Whether a request may change something."""
        return self.method != "GET"


class Probe:
    """An attacker who has a token with every scope and checks what happens without it."""

    def __init__(self, address: str, token: str, *, slow: bool = False, tls: ssl.SSLContext | None = None) -> None:
        parts = urlsplit(address)
        self.address, self.token, self.slow = address.rstrip("/"), token, slow
        self.secure = parts.scheme == "https"
        self.name = parts.hostname or "127.0.0.1"
        self.port = parts.port or (443 if self.secure else 80)
        self.host = parts.netloc
        self.cookie = f"{'__Host-' if self.secure else ''}handrail-{self.port}"
        self.sockets: list[str] = ["/ws"]
        """Paths of the WebSockets, complete after the first call of `routes`."""
        self._devices: list[str] = []
        self._routes: list[Route] = []
        self._tls = (tls or ssl.create_default_context()) if self.secure else None

    # Routes

    async def routes(self) -> list[Route]:
        """Every route, from the server's own OpenAPI document."""
        if not self._routes:
            response = await self.request("GET", "/api/openapi.json")
            listed = self.expect(response, 200, what="the OpenAPI document").json
            for path, methods in listed["paths"].items():
                example = _PARAMETER.sub(lambda found: EXAMPLES[found[1]], path)
                self._routes += [
                    Route(method.upper(), example, row.get("x-scope", "")) for method, row in methods.items()
                ]
            self.sockets = listed.get("x-sockets", self.sockets)
        return self._routes

    async def routes_with_login(self) -> list[Route]:
        """The routes that need a login."""
        found = [route for route in await self.routes() if route.scope]
        if not found:
            raise AttackSucceeded("no route requires a login")
        return found

    # HTTP

    @contextlib.asynccontextmanager
    async def connection(self) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """A TCP or TLS connection."""
        reader, writer = await asyncio.open_connection(self.name, self.port, ssl=self._tls)
        try:
            yield reader, writer
        finally:
            writer.close()
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(1):
                    await writer.wait_closed()

    async def raw(self, data: bytes, *, seconds: float = SECONDS) -> Response:
        """Send bytes and read one response."""
        async with self.connection() as (reader, writer):
            with contextlib.suppress(ConnectionError):
                writer.write(data)
                await writer.drain()
            try:
                async with asyncio.timeout(seconds):
                    return await _read_response(reader, head=data.startswith(b"HEAD "))
            except (ConnectionError, asyncio.IncompleteReadError, TimeoutError):
                return Response(0, {}, b"")

    async def request(
        self, method: str, path: str, body: Any = None, *, token: str | None = None, **headers: str
    ) -> Response:
        """Send one request. `token`: None for the probe's token, "" for none. A header with the value "" is omitted."""
        data = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
        used = self.token if token is None else token
        sent = {
            "host": self.host,
            "connection": "close",
            "content_type": "application/json" if data else "",
            "authorization": f"Bearer {used}" if used else "",
            **headers,
        }
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in sent.items() if value]
        if data or method not in ("GET", "HEAD", "OPTIONS"):
            lines.append(f"content-length: {len(data)}")
        return await self.raw("\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode("utf-8") + data)

    async def command(self, command: str, **fields: Any) -> Response:
        """Send a command with a new id."""
        body = {"id": f"attack-{id(fields)}-{asyncio.get_running_loop().time()}", "command": command, "fields": fields}
        return await self.request("POST", "/api/commands", body)

    def expect(self, response: Response, *statuses: int, what: str = "") -> Response:
        """Return the response, or raise `AttackSucceeded` if its status is not one of these."""
        if response.status not in statuses:
            expected = " or ".join(map(str, statuses))
            raise AttackSucceeded(f"{what or 'the server'} answered {response.status}, expected {expected}")
        return response

    # WebSocket

    async def upgrade(
        self, path: str = "/ws", *, token: str = "", protocols: str = "handrail.v1", **headers: str
    ) -> Response:
        """Request a WebSocket and return the response to the handshake."""
        handshake = {
            "upgrade": "websocket",
            "connection": "Upgrade",
            "sec-websocket-version": "13",
            "sec_websocket_key": _KEY,
            "sec_websocket_protocol": protocols,
        }
        return await self.request("GET", path, token=token, **{**handshake, **headers})

    def socket(self, token: str | None = None, **options: Any) -> Any:
        """A WebSocket connection with a valid token."""
        return websockets.connect(
            self.address.replace("http", "ws", 1) + "/ws",
            additional_headers={"Authorization": f"Bearer {self.token if token is None else token}"},
            subprotocols=[Subprotocol("handrail.v1")],
            proxy=None,
            max_size=None,
            ssl=self._tls,
            **options,
        )

    async def close_code(self, *frames: str) -> int:
        """Send frames and return the close code of the server; 0 if it keeps the connection open."""
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

    # Devices

    async def device(self, *scopes: str) -> str:
        """Create a device and return its token. `revoke_devices` revokes it."""
        response = await self.request("POST", "/api/devices", {"name": "attack test", "scopes": list(scopes)})
        self.expect(response, 201, what="creating a device")
        self._devices.append(response.json["device"]["id"])
        return response.json["token"]

    async def revoke(self, token: str) -> None:
        """Revoke the device of a token."""
        await self.request("DELETE", f"/api/devices/{token.partition('.')[0]}")

    async def revoke_devices(self) -> None:
        """Revoke every device that this probe created."""
        for id in self._devices:
            await self.request("DELETE", f"/api/devices/{id}")


async def _read_response(reader: asyncio.StreamReader, *, head: bool) -> Response:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    status = int(lines[0].split(" ")[1])
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:]) if name}
    if status == 101 or head:
        return Response(status, headers, b"")
    if "content-length" in headers:
        return Response(status, headers, await reader.readexactly(int(headers["content-length"])))
    return Response(status, headers, await reader.read(1024 * 1024))
