"""A connection to NATS that connects and reconnects for as long as the program runs.

The connection can be entered before NATS is reachable. While it is down, publishing and requesting fail at once, and
subscriptions take effect on the next connect. Errors of nats-py are logged, each kind at most once a minute.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import re
import ssl
import time
from collections.abc import Callable
from typing import Any, Final, Self

from nats import errors
from nats.js import JetStreamContext

from handrail.bridge.cluster.nats.address import Address, tls_context
from handrail.bridge.cluster.nats.credentials import login_options
from handrail.bridge.cluster.nats.names import inbox_prefix
from handrail.bridge.cluster.nats.reconnecting_client import ReconnectingClient
from handrail.bridge.errors import ClusterAway, ClusterRefused

__all__ = ["NatsConnection"]

log = logging.getLogger("handrail.bridge")

MIN_RETRY_SECONDS: Final = 0.1
MAX_RETRY_SECONDS: Final = 2.0
REFUSED_RETRY_SECONDS: Final = 30.0
"""Delay between attempts once a machine that was connected before is refused."""
CONNECT_SECONDS: Final = 2.0
PING_SECONDS: Final = 1.5
MAX_PINGS: Final = 2
"""Unanswered pings before a server counts as dead: soon enough to renew a lease through another server."""
ANSWER_SECONDS: Final = 3.0
CLOSE_SECONDS: Final = 2.0
LOG_INTERVAL_SECONDS: Final = 60.0
_REFUSED: Final = re.compile("authorization|authentication|certificate|tls|ssl|secure connection", re.IGNORECASE)


class NatsConnection:
    """A connection that reconnects by itself. `name` is shown by NATS; `role` is one of the cluster's roles.

    on_up    called after each connect, when all subscriptions are active again
    on_down  called when the connection is lost
    ping     seconds between pings
    """

    def __init__(self, address: Address, name: str, *, role: str, ping: float = PING_SECONDS) -> None:
        self.address = address
        self.nats = ReconnectingClient()
        self.nats.secure = address.secure
        self.js = JetStreamContext(self.nats, timeout=ANSWER_SECONDS)
        self.on_up: list[Callable[[], None]] = []
        self.on_down: list[Callable[[], None]] = []
        self.refused = ""
        """Why every server refuses this machine; "" if none was refused."""
        self._name, self._role, self._ping = name, role, ping
        self._up = asyncio.Event()
        self._settled = asyncio.Event()
        """Set while the connection is either up or refused."""
        self._was_up = False
        self._down_since = time.monotonic()
        self._refusals = 0
        self._logged: dict[str, float] = {}
        self._last_error = ""
        self._connecting: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        """Start connecting. Subscriptions can be made as soon as this returns, whether NATS is reachable or not."""
        options = {**login_options(self.address), "tls": tls_context(self.address)}
        self._connecting = asyncio.create_task(self._connect(options), name="handrail nats connect")
        # If connect() fails before the client is configured, waiting for the event alone would never end.
        self._connecting.add_done_callback(lambda _: self.nats.configured.set())
        try:
            await self.nats.configured.wait()
        except asyncio.CancelledError:
            self._connecting.cancel()
            raise
        if self._connecting.done():
            self._connecting.result()  # raises what was not expected; a refused login is reported by until_up
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        if not self.nats.is_connected:
            self.nats.abort()
        closing = asyncio.create_task(self.nats.close())
        # close() flushes first, which never ends if the server has stopped reading.
        if not (await asyncio.wait({closing}, timeout=CLOSE_SECONDS))[0]:
            self.nats.abort()
            closing.cancel()
        await asyncio.gather(closing, return_exceptions=True)
        self.nats.drop_pending()

    @property
    def is_up(self) -> bool:
        """Whether the client is connected and all its subscriptions are active."""
        return self._up.is_set() and self.nats.is_connected

    @property
    def servers(self) -> int:
        """Number of known servers: those in the address, or those that the connected server reports."""
        return max(len(self.address.servers), self.nats.servers_seen)

    async def until_up(self, timeout: float) -> None:
        """Wait until connected. Raises ClusterRefused if NATS refuses the login, ClusterAway on timeout (seconds)."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._settled.wait()
        if self.is_up:
            return
        if self.refused:
            raise ClusterRefused(self.refused)
        reason = f": {self._last_error}" if self._last_error else ""
        raise ClusterAway(f"NATS does not answer at {self.address.shown}{reason}")

    def try_another(self) -> None:
        """Reconnect to another server if there is one. For a server that answers but has lost its peers."""
        if self.is_up and len(self.address.servers) > 1:
            log.warning("the connected NATS server does not accept writes; trying another server")
            self.nats.abort()

    # Connecting

    async def _connect(self, options: dict[str, Any]) -> None:
        try:
            await self.nats.connect(
                servers=random.sample(self.address.servers, len(self.address.servers)),
                dont_randomize=True,  # shuffled once: nats-py then retries a failed server only after all the others
                name=self._name,
                inbox_prefix=inbox_prefix(self._role),
                error_cb=self._on_error,
                disconnected_cb=self._on_disconnect,
                reconnected_cb=self._on_connect,
                max_reconnect_attempts=-1,
                reconnect_time_wait=MIN_RETRY_SECONDS,  # type: ignore[arg-type]  annotated int, but floats work
                connect_timeout=CONNECT_SECONDS,  # type: ignore[arg-type]
                ping_interval=self._ping,  # type: ignore[arg-type]
                max_outstanding_pings=MAX_PINGS,
                **options,
            )
            await self.nats.resubscribe()
        except ClusterRefused as error:
            log.error("%s", error)
            return
        except errors.Error as error:  # lost again right after the connect: nats-py is already reconnecting
            await self._on_error(error)
            return
        await self._on_connect()

    async def _on_connect(self) -> None:
        if self._was_up:
            log.warning("reconnected to NATS after %.1f s", time.monotonic() - self._down_since)
        self._was_up, self._refusals, self.refused, self._last_error = True, 0, "", ""
        self.nats.options["reconnect_time_wait"] = MIN_RETRY_SECONDS
        self._up.set()
        self._settled.set()
        self._notify(self.on_up)

    async def _on_disconnect(self) -> None:
        self.nats.drop_pending()
        if not self._up.is_set():
            return
        self._up.clear()
        self._settled.clear()
        self._down_since = time.monotonic()
        self._notify(self.on_down)

    def _notify(self, callbacks: list[Callable[[], None]]) -> None:
        for callback in list(callbacks):
            try:
                callback()
            except Exception:  # one failing callback must not stop the others
                log.exception("a callback failed when the connection to NATS changed")

    # Errors

    async def _on_error(self, error: Exception) -> None:
        text = _describe(error)
        self._log_once_a_minute(type(error).__name__ + text[:40], text)
        if self.is_up:
            return
        self._last_error = text
        wait = min(self.nats.options["reconnect_time_wait"] * 1.5, MAX_RETRY_SECONDS)
        # Jitter, so that the machines of a cluster do not all reconnect in the same moment.
        self.nats.options["reconnect_time_wait"] = wait * random.uniform(0.8, 1.0)  # noqa: S311
        if isinstance(error, ssl.SSLError) or (isinstance(error, errors.Error) and _REFUSED.search(str(error))):
            self._on_refusal(text)

    def _on_refusal(self, text: str) -> None:
        """Count a refused login; it is final once there are as many as servers.

        While a new configuration is rolled out, some servers may not know this machine's key yet.
        """
        self._refusals += 1
        if self._refusals < len(self.address.servers):
            return
        self.refused = f"NATS at {self.address.shown} refused the connection: {text}"
        self._settled.set()
        if not self._was_up:
            raise ClusterRefused(self.refused)
        self.nats.options["reconnect_time_wait"] = REFUSED_RETRY_SECONDS

    def _log_once_a_minute(self, kind: str, text: str) -> None:
        now = time.monotonic()
        if now - self._logged.get(kind, -LOG_INTERVAL_SECONDS) < LOG_INTERVAL_SECONDS:
            return
        if len(self._logged) > 100:  # texts vary: bound the memory
            self._logged.clear()
        self._logged[kind] = now
        log.warning("NATS: %s", text)


def _describe(error: Exception) -> str:
    """The error in one phrase. Errors of nats-py contain no secrets."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the server's certificate is not trusted ({error.verify_message})"
    if isinstance(error, errors.SecureConnWantedError):
        return "TLS is required, but the server does not offer it"
    if isinstance(error, TimeoutError) and not isinstance(error, errors.Error):
        return "timed out"
    text = str(error).removeprefix("nats: ").strip().strip("'\"")
    if re.search("authorization", text, re.IGNORECASE):
        return "the server rejected the credentials"
    return text or type(error).__name__
