"""The way to a bridge over the network: WebSocket for the native protocol, HTTP for lists, images and large events."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Final

import msgspec
import websockets
from websockets.asyncio.client import ClientConnection
from websockets.typing import Subprotocol

from handrail.bridge_client.base import CommandFailed, LoginRefused, Unreachable

if TYPE_CHECKING:
    import httpx2

__all__ = ["ServerLink"]

SUBPROTOCOL: Final = "handrail.v1"
SECONDS: Final = 10.0
"""For the handshake, and for one HTTP request."""
REQUESTS_AT_ONCE: Final = 8
"""HTTP requests in progress; more of them wait. Each has a connection of its own."""
REFUSED: Final = frozenset({400, 401, 403, 404, 421})
"""Answers to the handshake that stay the same however often it is tried."""


class ServerLink:
    """A bridge at an http or https address. `token` is that of a device, `tls` for a certificate that no CA signed."""

    def __init__(self, address: str, token: str, *, tls: ssl.SSLContext | None = None) -> None:
        self._address, self._tls = address.rstrip("/"), tls
        self._headers = {"Authorization": f"Bearer {token}"}
        self._requests = asyncio.Semaphore(REQUESTS_AT_ONCE)

    @contextlib.asynccontextmanager
    async def connect(self) -> AsyncGenerator[_SocketWire]:
        """Open a socket."""
        try:
            socket = await websockets.connect(
                self._address.replace("http", "ws", 1) + "/ws",
                additional_headers=self._headers,
                subprotocols=[Subprotocol(SUBPROTOCOL)],
                proxy=None,
                max_size=None,
                open_timeout=SECONDS,
                ssl=self._tls,
            )
        except websockets.InvalidStatus as error:
            status, told = error.response.status_code, _message(bytes(error.response.body or b""))
            failure = LoginRefused if status in REFUSED else Unreachable
            raise failure(f"{self._address} refused the connection: {told or status}") from None
        except (OSError, websockets.WebSocketException, TimeoutError, ValueError) as error:
            raise Unreachable(f"{self._address} cannot be reached: {str(error) or type(error).__name__}") from None
        try:
            yield _SocketWire(socket)
        finally:
            await socket.close()

    async def sessions(self, words: str, offset: int, limit: int) -> list[dict[str, Any]]:
        """The list of sessions."""
        found = await self._request("GET", "/api/sessions", params={"words": words, "offset": offset, "limit": limit})
        return msgspec.json.decode(found)["sessions"]

    async def event(self, session: str, seq: int) -> bytes:
        """One event, of any size."""
        found = await self._request("GET", f"/api/sessions/{session}/events/{seq}")
        return bytes(msgspec.json.decode(found, type=_Event).data)

    async def upload(self, image: bytes) -> str:
        """Store an image."""
        headers = {"content-type": "application/octet-stream"}
        return msgspec.json.decode(await self._request("POST", "/api/uploads", content=image, headers=headers))["id"]

    async def _request(self, method: str, path: str, *, headers: Any = None, **given: Any) -> bytes:
        import httpx2  # imported late: an editor waits for the first answer

        verify: Any = True if self._tls is None else self._tls
        try:
            async with (
                self._requests,
                httpx2.AsyncClient(
                    base_url=self._address, headers=self._headers, verify=verify, trust_env=False, timeout=SECONDS
                ) as client,
            ):
                answer: httpx2.Response = await client.request(method, path, headers=headers, **given)
        except httpx2.HTTPError as error:
            raise Unreachable(f"{self._address} cannot be reached: {str(error) or type(error).__name__}") from None
        if answer.is_error:
            raise CommandFailed(str(answer.status_code), _message(answer.content) or f"HTTP {answer.status_code}")
        return answer.content


class _SocketWire:
    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def send(self, text: str) -> None:
        try:
            await self._socket.send(text)
        except websockets.ConnectionClosed as closed:
            raise Unreachable(str(closed)) from None

    async def receive(self) -> str | bytes:
        try:
            return await self._socket.recv()
        except websockets.ConnectionClosed as closed:
            raise Unreachable(str(closed)) from None


class _Event(msgspec.Struct):
    data: msgspec.Raw


class _Said(msgspec.Struct, frozen=True):
    message: str = ""


class _Refusal(msgspec.Struct):
    error: _Said = _Said()


def _message(body: bytes) -> str:
    """The text of a refusal; "" if it is not JSON of the bridge."""
    try:
        return msgspec.json.decode(body, type=_Refusal).error.message
    except msgspec.MsgspecError:
        return ""
