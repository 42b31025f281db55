"""The HTTP server: uvicorn with stricter timeouts and limits, and the socket it listens on.

It binds to this machine alone unless it has a certificate, or the operator asked for an open port.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import ssl
import sys
from collections.abc import Generator
from typing import Any, Final

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame

from handrail.bridge.addresses import is_loopback
from handrail.bridge.errors import AddressRefused
from handrail.bridge.web.guard import HEADERS
from handrail.bridge.web.http.route import Refused

__all__ = ["HttpServer", "check_address", "http_server", "listen"]

LARGEST_FRAME: Final = 1024 * 1024
MOST_FRAGMENTS: Final = 1024
"""Frames of one message."""
LARGEST_HEAD: Final = 16 * 1024
MOST_CONNECTIONS: Final = 2000
MOST_UNREAD: Final = 1024 * 1024
"""Bytes of pongs that a client may leave unread."""
HEAD_SECONDS: Final = 10.0
LINGER_SECONDS: Final = 10.0
"""How long a closed socket may take to disconnect."""
SHUTDOWN_SECONDS: Final = 5
BACKLOG: Final = 512


def http_server(app: ASGIApp, tls: ssl.SSLContext | None = None) -> HttpServer:
    """A server for an application."""
    config = uvicorn.Config(
        app,
        http=_Http,
        ws=_Socket,
        ws_max_size=LARGEST_FRAME,
        ws_per_message_deflate=False,
        lifespan="on",
        log_config=None,
        log_level="error",  # malformed requests of strangers are not worth a log line
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        h11_max_incomplete_event_size=LARGEST_HEAD,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        ssl_context_factory=None if tls is None else lambda config, default: tls,
    )
    return HttpServer(config)


class HttpServer(uvicorn.Server):
    """Sets `ready` once it accepts connections, leaves signals alone, and limits the TLS handshake."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup([])
        if not self.started:
            return
        config, loop = self.config, asyncio.get_running_loop()
        seconds = HEAD_SECONDS if config.ssl else None
        for one in sockets or []:
            self.servers.append(
                await loop.create_server(self._connection, sock=one, ssl=config.ssl, ssl_handshake_timeout=seconds)
            )
        self.ready.set()

    def _connection(self) -> _Http:
        return _Http(self.config, self.server_state, self.lifespan.state)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class _Http(H11Protocol):
    """HTTP with a deadline for the head of a request. Malformed requests get a JSON response."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._deadline = self.loop.call_later(HEAD_SECONDS, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._clear_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        upgraded = self.transport.get_protocol() is not self
        cycle: Any = self.cycle
        if upgraded or (cycle is not None and not (cycle.response_complete and self.conn.trailing_data[0])):
            self._clear_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def send_400_response(self, msg: str) -> None:
        """Respond to malformed HTTP, with the status of the error that is being handled."""
        error = sys.exception()
        status = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        code, text = (
            ("too_large", "the head of the request is too long")
            if status == 431
            else ("bad_request", "malformed HTTP request")
        )
        refusal = Refused(status, code, text)
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return self.transport.close()
        body = refusal.body
        headers = {
            **HEADERS,
            "content-type": "application/json",
            "content-length": str(len(body)),
            "connection": "close",
        }
        start = h11.Response(status_code=status, headers=list(headers.items()))
        for event in (start, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


class _Socket(WebSocketsSansIOProtocol):
    """A WebSocket with limits that uvicorn does not have.

    A message has at most MOST_FRAGMENTS frames, because empty ones do not count towards its size. A closed socket
    disconnects after LINGER_SECONDS, whether or not the client reads. A handshake refused with a JSON
    response is complete: without this uvicorn logs an error.
    """

    _linger: asyncio.TimerHandle | None = None

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        super().on_task_complete(task)
        if not self.disconnected:
            self._linger = self.loop.call_later(LINGER_SECONDS, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._linger is not None:
            self._linger.cancel()

    def handle_ping(self) -> None:
        super().handle_ping()
        if self.transport.get_write_buffer_size() > MOST_UNREAD:
            self.transport.abort()

    async def send(self, message: Any) -> None:
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    def keepalive_timeout(self) -> None:
        """The client is unreachable: drop the unsent data."""
        super().keepalive_timeout()
        self.transport.abort()

    def handle_cont(self, event: Frame) -> None:
        if self.close_sent:
            return
        if len(self.frames) >= MOST_FRAGMENTS:
            self.frames = []
            self.conn.fail(CloseCode.MESSAGE_TOO_BIG, "too many fragments")
            return self.handle_parser_exception()
        super().handle_cont(event)


def check_address(host: str, *, secure: bool, insecure: bool = False) -> None:
    """Raise AddressRefused if other machines could connect without TLS."""
    if not (secure or insecure or is_loopback(host)):
        raise AddressRefused(
            f"{host or 'every address'} is reachable from other machines, and without TLS the network can read along; "
            "use --phone, which makes a certificate, or give --tls-cert and --tls-key, or --insecure if the network is "
            "private"
        )


def listen(host: str, port: int, tries: int = 1) -> socket.socket:
    """A listening socket on the port, or on the first free one of `tries` ports. Raises AddressRefused."""
    family, address = _resolved(host)
    for candidate in range(port, port + tries):
        # With the protocol named, asyncio sets TCP_NODELAY on accepted connections; without it each response on a
        # kept-alive connection waits 40 ms for a delayed acknowledgement.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address, candidate))
            listener.listen(BACKLOG)
            listener.setblocking(False)
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE:
                raise AddressRefused(f"cannot listen on {host} port {candidate}: {error.strerror or error}") from None
            continue
        return listener
    ports = f"port {port} is" if tries == 1 else f"the ports {port} to {port + tries - 1} are"
    raise AddressRefused(
        f"{ports} in use; stop the process using it, or choose another port with --port (0: any free one)"
    )


def _resolved(host: str) -> tuple[socket.AddressFamily, str]:
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, ValueError) as error:  # ValueError: not a valid name at all
        why = getattr(error, "strerror", "") or "not a valid host name"
        raise AddressRefused(f"cannot listen on {host}: {why}") from None
    return family, str(address[0])
