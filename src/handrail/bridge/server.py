"""The server process. In: a Bridge and where to listen. Out: a running server on a real port.

It listens on this machine alone unless it speaks TLS, or somebody has said that they want it otherwise.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame

from handrail.bridge.bridge import Bridge
from handrail.bridge.errors import BridgeError
from handrail.bridge.memory_allocation import give_back_large_pieces
from handrail.bridge.web.addresses import own_address
from handrail.bridge.web.app import Speaking, make_app
from handrail.bridge.web.guard import HEADERS
from handrail.bridge.web.http.route import Refused
from handrail.bridge.web.http.static import PAGE
from handrail.bridge.web.listening import check_address, listen
from handrail.bridge.web.tls import tls_context, watch_certificate

__all__ = ["Served", "serve"]

LARGEST_FRAME: Final = 1024 * 1024
MOST_PIECES: Final = 1024
"""In so many frames one message may come."""
LARGEST_HEAD: Final = 16 * 1024
MOST_CONNECTIONS: Final = 2000
MOST_UNREAD: Final = 1024 * 1024
"""So many bytes of answers to its pings a client may leave unread."""
HEAD_SECONDS: Final = 10.0
LINGER_SECONDS: Final = 10.0
"""So long a socket that has ended may take to go."""
LAST_SECONDS: Final = 5


class Served:
    """A server that runs. `address` is what clients are told."""

    def __init__(self, server: uvicorn.Server, host: str, port: int, *, secure: bool) -> None:
        self._server, self.port, self.secure = server, port, secure
        self.address = own_address(host, port, secure=secure)
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """End it in good order; said a second time, without waiting for anybody."""
        self._server.force_exit = self._server.should_exit
        self._server.should_exit = True
        self._stopping.set()

    async def wait(self) -> None:
        """Until somebody says stop."""
        await self._stopping.wait()


@contextlib.asynccontextmanager
async def serve(
    bridge: Bridge,
    *,
    insecure: bool = False,
    listener: socket.socket | None = None,
    dialects: dict[str, Speaking] | None = None,
    page: Path = PAGE,
) -> AsyncGenerator[Served]:
    """Serve a bridge as long as the block runs; signals are the caller's business.

    The bridge is opened and closed here. AddressRefused where its address may not or cannot be bound, TlsRefused where
    its certificate is no good; `insecure` lets other machines come in without TLS. `listener` is a socket that the
    caller has bound already, `page` the folder of the built page.
    """
    told = bridge.configuration
    give_back_large_pieces()
    check_address(told.host, secure=told.certificate is not None, insecure=insecure)
    config = _config(bridge, dialects, page)
    listening = listener or listen(told.host, told.port)
    with contextlib.closing(listening):
        port: int = listening.getsockname()[1]
        server = _Server(config)
        running = asyncio.create_task(server.serve(sockets=[listening]), name="handrail server")
        ready = asyncio.create_task(server.ready.wait())
        renewing: asyncio.Task[None] | None = None
        try:
            await asyncio.wait([running, ready], return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                await running
                raise BridgeError("the server could not start; the log says why")
            if server.config.ssl is not None and told.certificate is not None and told.key is not None:
                renewing = asyncio.create_task(watch_certificate(server.config.ssl, told.certificate, told.key))
            yield Served(server, told.host, port, secure=told.certificate is not None)
        finally:
            for task in (ready, renewing):
                if task is not None:
                    task.cancel()
            server.should_exit = True
            await asyncio.wait([running])
    await running


def _config(bridge: Bridge, dialects: dict[str, Speaking] | None, page: Path) -> uvicorn.Config:
    told = bridge.configuration
    secured = None if told.certificate is None else tls_context(told.certificate, told.key or told.certificate)
    return uvicorn.Config(
        make_app(bridge, dialects, page),
        http=_Http,
        ws=_Socket,
        ws_max_size=LARGEST_FRAME,
        ws_per_message_deflate=False,
        lifespan="on",
        log_config=None,
        log_level="error",  # a stranger's nonsense is no news
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        h11_max_incomplete_event_size=LARGEST_HEAD,
        timeout_graceful_shutdown=LAST_SECONDS,
        ssl_context_factory=None if secured is None else lambda config, default: secured,
    )


class _Server(uvicorn.Server):
    """Tells when it is ready, leaves signals alone, and does not wait long for those who begin with TLS."""

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
    """HTTP that does not wait for ever for the head of a request, and refuses bad ones as JSON like everything else."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._patience = self.loop.call_later(HEAD_SECONDS, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._calm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        upgraded = self.transport.get_protocol() is not self
        cycle: Any = self.cycle
        if upgraded or (cycle is not None and not (cycle.response_complete and self.conn.trailing_data[0])):
            self._calm()
        elif self._patience is None:
            self._patience = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _calm(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def send_400_response(self, msg: str) -> None:
        """What was no HTTP, in our words. The status is that of the error that is being handled."""
        error = sys.exception()
        status = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        code, text = ("too_large", "the head is too long") if status == 431 else ("bad_request", "this is no good HTTP")
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
    """A socket on which no message comes in endless pieces: empty ones would count for nothing in its size.

    One that was refused in words was answered: nothing is missing that the log should know of. One that has ended is
    gone soon after, whether or not the other side reads what was left for it.
    """

    _leaving: asyncio.TimerHandle | None = None

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        super().on_task_complete(task)
        if not self.disconnected:
            self._leaving = self.loop.call_later(LINGER_SECONDS, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._leaving is not None:
            self._leaving.cancel()

    def handle_ping(self) -> None:
        super().handle_ping()
        if self.transport.get_write_buffer_size() > MOST_UNREAD:
            self.transport.abort()

    async def send(self, message: Any) -> None:
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    def keepalive_timeout(self) -> None:
        """Nobody is there any more: what was still to be written to them is not waited for."""
        super().keepalive_timeout()
        self.transport.abort()

    def handle_cont(self, event: Frame) -> None:
        if self.close_sent:
            return
        if len(self.frames) >= MOST_PIECES:
            self.frames = []
            self.conn.fail(CloseCode.MESSAGE_TOO_BIG, "too many fragments")
            return self.handle_parser_exception()
        super().handle_cont(event)
