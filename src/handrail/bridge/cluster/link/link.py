"""The connection of one machine to NATS. In: an address. Out: a client that connects by itself, for ever.

It is there before NATS is, and while NATS is away: whoever uses it then is told so at once. What nats-py reports goes
to the log, each kind once a minute.
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

from handrail.bridge.cluster.link.address import Address, login, tls
from handrail.bridge.cluster.link.names import inbox_prefix
from handrail.bridge.cluster.link.steady_client import SteadyClient
from handrail.bridge.errors import ClusterAway, ClusterRefused

__all__ = ["Link"]

log = logging.getLogger("handrail.bridge")

FIRST_WAIT: Final = 0.1
LONGEST_WAIT: Final = 2.0
REFUSED_WAIT: Final = 30.0
"""Seconds between two attempts on one server; the last for a machine that was in once and is refused now."""
CONNECT_SECONDS: Final = 2.0
PING_SECONDS: Final = 1.5
MOST_PINGS: Final = 2
"""A server that has stopped is noticed after two to three pings: early enough to renew a lease with another one."""
ANSWER_SECONDS: Final = 3.0
CLOSE_SECONDS: Final = 2.0
QUIET_SECONDS: Final = 60.0
"""What went wrong once is told again after so long."""
_REFUSED: Final = re.compile("authorization|authentication|certificate|tls|ssl|secure connection", re.IGNORECASE)


class Link:
    """A connection that comes back. `name` is shown by NATS; `role` as in the roles of the cluster.

    on_up    called after each connect, with all subscriptions there again
    on_down  called when it broke
    ping     seconds between two signs of life
    """

    def __init__(self, address: Address, name: str, *, role: str, ping: float = PING_SECONDS) -> None:
        self.address = address
        self.nats = SteadyClient()
        self.nats.secure = address.secure
        self.js = JetStreamContext(self.nats, timeout=ANSWER_SECONDS)
        self.on_up: list[Callable[[], None]] = []
        self.on_down: list[Callable[[], None]] = []
        self.refused = ""
        """Why no server lets us in; "" as long as that is not so."""
        self._name, self._role, self._ping = name, role, ping
        self._up = asyncio.Event()
        self._settled = asyncio.Event()
        """It is up, or refused."""
        self._was_up = False
        self._down_since = time.monotonic()
        self._refusals = 0
        self._told: dict[str, float] = {}
        self._why = ""
        self._connecting: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        options = {**login(self.address), "tls": tls(self.address)}
        self._connecting = asyncio.create_task(self._connect(options), name="handrail link")
        await asyncio.sleep(0)  # from here on subscriptions can be made
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        if not self.nats.is_connected:
            self.nats.abort()
        closing = asyncio.create_task(self.nats.close())
        if not (await asyncio.wait({closing}, timeout=CLOSE_SECONDS))[0]:
            self.nats.abort()
            closing.cancel()
        await asyncio.gather(closing, return_exceptions=True)
        self.nats.forget_what_waits()

    @property
    def is_up(self) -> bool:
        """Connected, and everything that was subscribed to is."""
        return self._up.is_set() and self.nats.is_connected

    @property
    def servers(self) -> int:
        """How many there are, as far as is known: that were named, or that the one we are connected to knows."""
        return max(len(self.address.servers), self.nats.servers_seen)

    async def until_up(self, timeout: float) -> None:
        """Wait for NATS. ClusterRefused where it does not let us in, ClusterAway where it is not there in time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._settled.wait()
        if self.is_up:
            return
        if self.refused:
            raise ClusterRefused(self.refused)
        raise ClusterAway(f"NATS does not answer at {self.address.shown}" + (f": {self._why}" if self._why else ""))

    def try_another(self) -> None:
        """The server we are connected to is there, and may have lost the others: go to the next one."""
        if self.is_up and len(self.address.servers) > 1:
            log.warning("this NATS server does not keep anything just now: trying another one")
            self.nats.abort()

    # Connecting

    async def _connect(self, options: dict[str, Any]) -> None:
        try:
            await self.nats.connect(
                servers=random.sample(self.address.servers, len(self.address.servers)),
                dont_randomize=True,  # shuffled once: the one that was left is the last to be tried again
                name=self._name,
                inbox_prefix=inbox_prefix(self._role),
                error_cb=self._error,
                disconnected_cb=self._broke,
                reconnected_cb=self._connected,
                max_reconnect_attempts=-1,
                reconnect_time_wait=FIRST_WAIT,  # type: ignore[arg-type]  any number will do
                connect_timeout=CONNECT_SECONDS,  # type: ignore[arg-type]
                ping_interval=self._ping,  # type: ignore[arg-type]
                max_outstanding_pings=MOST_PINGS,
                **options,
            )
            await self.nats.subscribe_again()
        except ClusterRefused as error:
            log.error("%s", error)
            return
        except errors.Error as error:  # it broke again at once: nats-py reconnects by itself
            await self._error(error)
            return
        await self._connected()

    async def _connected(self) -> None:
        if self._was_up:
            log.warning("NATS is back after %.1f s", time.monotonic() - self._down_since)
        self._was_up, self._refusals, self.refused, self._why = True, 0, "", ""
        self.nats.options["reconnect_time_wait"] = FIRST_WAIT
        self._up.set()
        self._settled.set()
        self._tell(self.on_up)

    async def _broke(self) -> None:
        self.nats.forget_what_waits()
        if not self._up.is_set():
            return
        self._up.clear()
        self._settled.clear()
        self._down_since = time.monotonic()
        self._tell(self.on_down)

    def _tell(self, whom: list[Callable[[], None]]) -> None:
        for one in list(whom):
            try:
                one()
            except Exception:  # one that fails keeps nobody else from knowing
                log.exception("something failed when the connection to NATS changed")

    # What goes wrong

    async def _error(self, error: Exception) -> None:
        words = _in_words(error)
        self._say(type(error).__name__ + words[:40], words)
        if self.is_up:
            return
        self._why = words
        wait = min(self.nats.options["reconnect_time_wait"] * 1.5, LONGEST_WAIT)
        self.nats.options["reconnect_time_wait"] = wait * random.uniform(0.8, 1.0)  # noqa: S311  so that not all come at once
        if isinstance(error, ssl.SSLError) or (isinstance(error, errors.Error) and _REFUSED.search(str(error))):
            self._was_refused(words)

    def _was_refused(self, words: str) -> None:
        """Each server may say so once before it counts: they need not all have been told of us at the same time."""
        self._refusals += 1
        if self._refusals < len(self.address.servers):
            return
        self.refused = f"NATS at {self.address.shown} does not let us in: {words}"
        self._settled.set()
        if not self._was_up:
            raise ClusterRefused(self.refused)
        self.nats.options["reconnect_time_wait"] = REFUSED_WAIT

    def _say(self, kind: str, words: str) -> None:
        now = time.monotonic()
        if now - self._told.get(kind, -QUIET_SECONDS) < QUIET_SECONDS:
            return
        if len(self._told) > 100:
            self._told.clear()
        self._told[kind] = now
        log.warning("NATS: %s", words)


def _in_words(error: Exception) -> str:
    """What is told of an error; nats-py has no secret in them."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the server's certificate is not to be trusted ({error.verify_message})"
    if isinstance(error, errors.SecureConnWantedError):
        return "TLS was asked for, and the server offers none"
    if isinstance(error, TimeoutError) and not isinstance(error, errors.Error):
        return "no answer in time"
    words = str(error).removeprefix("nats: ").strip().strip("'\"")
    if re.search("authorization", words, re.IGNORECASE):
        return "it does not accept our credentials"
    return words or type(error).__name__
