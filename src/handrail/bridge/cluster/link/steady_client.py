"""nats-py's client, made for a connection that is never given up. In: what nats-py takes. Out: the same, but

- while it is down nothing is kept for later: whoever publishes or asks is told at once, and what was not yet written
  when the connection broke is dropped. A request that its caller has given up is not done minutes afterwards
- what waits for an answer hears at once that the connection broke
- subscriptions outlive every failed attempt, the first ones too
- an error that the server names ends the connection, not the client
- where TLS was asked for, nothing is said to a server that offers none
- only the servers that were named are tried
- a flush comes back when the server has what was said before it, not only the ping
- whoever is cancelled while he waits for it is cancelled, also where the answer comes in the same moment

All of this stands where nats-py 2.16 does otherwise, and each has a test that shows it.
"""

# nats-py says of some of its own only that they are there.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from types import CoroutineType
from typing import Any, ParamSpec, TypeVar

from nats import errors
from nats.aio.client import Client, Srv
from nats.aio.msg import Msg
from nats.protocol.parser import AUTHORIZATION_VIOLATION, PERMISSIONS_ERR

__all__ = ["SteadyClient"]


P = ParamSpec("P")
T = TypeVar("T")


def _cancellable(work: Callable[P, Awaitable[T]]) -> Callable[P, CoroutineType[Any, Any, T]]:
    """What swallows no cancellation. `asyncio.wait_for` does so before Python 3.12, and nats-py's own flush."""

    @wraps(work)
    async def waits(*values: P.args, **named: P.kwargs) -> T:
        task = asyncio.current_task()
        before = task.cancelling() if task is not None else 0
        found = await work(*values, **named)
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError
        return found

    return waits


class SteadyClient(Client):
    """One connection, for as long as the program runs."""

    secure = False
    """Only over TLS."""

    @property
    def servers_seen(self) -> int:
        """How many addresses of servers of its cluster the server has told; 0 where it stands alone."""
        return len(self._server_info.get("connect_urls") or ())

    # Nothing is kept for later

    @_cancellable
    async def publish(
        self, subject: str, payload: bytes = b"", reply: str = "", headers: dict[str, str] | None = None
    ) -> None:
        """As it was, but only over a connection."""
        self._check_connected()
        await super().publish(subject, payload, reply, headers)

    @_cancellable
    async def request(
        self,
        subject: str,
        payload: bytes = b"",
        timeout: float = 0.5,
        old_style: bool = False,  # noqa: FBT001, FBT002  as it is there
        headers: dict[str, Any] | None = None,
    ) -> Msg:
        """As it was, but only over a connection."""
        self._check_connected()
        return await super().request(subject, payload, timeout, old_style, headers)

    @_cancellable
    async def flush(self, timeout: int = 10) -> None:
        """As it was, but what was said before goes before."""
        await self._flush_pending(force_flush=True)
        await super().flush(timeout)

    @_cancellable
    async def _flush_pending(self, force_flush: bool = False) -> Any:  # noqa: FBT001, FBT002
        return await super()._flush_pending(force_flush)

    def _check_connected(self) -> None:
        if not self.is_connected and not self.is_closed:
            raise errors.ConnectionReconnectingError

    def forget_what_waits(self) -> None:
        """The connection has broken: nothing of it is sent over the next one, and nobody waits for its answers."""
        self._pending.clear()
        self._pending_data_size = 0
        for waiting in list(self._resp_map.values()):
            if not waiting.done():
                waiting.set_exception(errors.ConnectionReconnectingError())
        while self._flush_queue is not None and not self._flush_queue.empty():
            flushed = self._flush_queue.get_nowait()
            if not flushed.done():
                flushed.set_result(None)

    # A connection that is made anew

    async def subscribe_again(self) -> None:
        """After the first connection: what was subscribed to before it was there."""
        self._pending.clear()
        self._pending_data_size = 0
        for sub in list(self._subs.values()):
            await self._send_subscribe(sub)
        await self.flush()

    async def _connect_to_server(self, s: Srv) -> None:
        # Of an attempt that came half way nothing is left behind, above all nobody who reads.
        for task in (self._reading_task, self._ping_interval_task, self._flusher_task):
            if task is not None and not task.done():
                task.cancel()
        if self._transport is not None:
            self._transport.close()
        await super()._connect_to_server(s)

    async def _close(self, status: int, do_cbs: bool = True) -> None:  # noqa: FBT001, FBT002
        if status != Client.DISCONNECTED:
            return await super()._close(status, do_cbs)
        kept, self._subs = self._subs, {}  # an attempt has failed, and there will be others
        try:
            await super()._close(status, do_cbs)
            self._status = Client.DISCONNECTED
        finally:
            self._subs = kept

    def _connect_command(self) -> bytes:
        if self.secure and not self._server_info.get("tls_required"):
            raise errors.SecureConnWantedError
        return super()._connect_command()

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:  # noqa: FBT001, FBT002
        named = {name: value for name, value in info.items() if name != "connect_urls"}
        await super()._process_info(named, initial_connection)

    def abort(self) -> None:
        """End it without another word; for a server that no longer takes any."""
        writer = getattr(self._transport, "_io_writer", None)
        if isinstance(writer, asyncio.StreamWriter):
            writer.transport.abort()

    # What a server says

    async def _process_err(self, err_msg: str) -> None:
        told = err_msg.strip().strip("'")
        refused = AUTHORIZATION_VIOLATION in told
        error = errors.AuthorizationError() if refused else errors.Error(f"nats: {told}")
        await self._error_cb(error)
        if PERMISSIONS_ERR not in told:
            await self._process_op_err(error)

    async def _process_op_err(self, e: Exception) -> None:
        if not (self.is_closed or self.is_reconnecting):
            self.abort()  # else nats-py waits until a server that has stopped takes what was written to it
        await super()._process_op_err(e)

    async def _process_pong(self) -> None:
        # Who has given up waiting must not end the reading of everything else.
        self._pings_outstanding = 0
        if self._pongs:
            future: asyncio.Future[bool] = self._pongs.pop(0)
            self._pongs_received += 1
            if not future.done():
                future.set_result(True)
