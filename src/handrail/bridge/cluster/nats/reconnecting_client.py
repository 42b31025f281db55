"""nats-py's client, changed for a connection that reconnects forever.

- While disconnected, publishing and requesting fail at once, and data not yet written when the connection broke is
  dropped: a request that its caller gave up must not be executed minutes later.
- Pending requests fail as soon as the connection breaks.
- Subscriptions survive every failed attempt, including the first.
- An error reported by the server ends the connection, not the client.
- If TLS is required, nothing is sent to a server that does not offer it.
- Only the configured servers are tried, not those that a server announces.
- A flush returns when the server has received everything published before it, not only the ping.
- A cancelled caller is cancelled even if the answer arrives in the same moment.
- Messages published in one step of the event loop are written to the socket at its end, without a task in between.
- The answer to a request resolves it while it is parsed, without a queue and a task in between.

nats-py 2.16 behaves differently in each of these points; each has a test.
"""

# Some of nats-py's attributes are not annotated.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from types import CoroutineType
from typing import Any, ParamSpec, TypeVar

from nats import errors
from nats.aio.client import NO_RESPONDERS_STATUS, Client, Srv
from nats.aio.msg import Msg
from nats.protocol.parser import AUTHORIZATION_VIOLATION, PERMISSIONS_ERR

__all__ = ["ReconnectingClient"]


P = ParamSpec("P")
T = TypeVar("T")


def _cancellable(work: Callable[P, Awaitable[T]]) -> Callable[P, CoroutineType[Any, Any, T]]:
    """Re-raise a cancellation that `work` swallowed, as nats-py's flush does, and wait_for before Python 3.12."""

    @wraps(work)
    async def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        task = asyncio.current_task()
        before = task.cancelling() if task is not None else 0
        result = await work(*args, **kwargs)
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError
        return result

    return wrapper


def _expire(answer: asyncio.Future[Msg]) -> None:
    if not answer.done():
        answer.set_exception(errors.TimeoutError())


class ReconnectingClient(Client):
    """A client for one connection that lasts as long as the program."""

    secure = False
    """Whether TLS is required."""

    def __init__(self) -> None:
        super().__init__()
        self._writing: asyncio.Handle | None = None
        self._answers: int | None = None
        """Id of the subscription to answers."""
        self.configured = asyncio.Event()
        """Set once `connect` has stored its options and callbacks: from then on subscriptions can be made."""

    @property
    def servers_seen(self) -> int:
        """Number of servers in the cluster of the connected server; 0 for a single server."""
        return len(self._server_info.get("connect_urls") or ())

    # Nothing is buffered while disconnected

    async def publish(
        self, subject: str, payload: bytes = b"", reply: str = "", headers: dict[str, str] | None = None
    ) -> None:
        """Publish. Raises ConnectionReconnectingError while disconnected."""
        self._check_connected()
        await super().publish(subject, payload, reply, headers)

    async def request(
        self,
        subject: str,
        payload: bytes = b"",
        timeout: float = 0.5,
        old_style: bool = False,  # noqa: FBT001, FBT002  nats-py's signature
        headers: dict[str, Any] | None = None,
    ) -> Msg:
        """Send a request. Raises ConnectionReconnectingError while disconnected. `old_style` is not supported."""
        assert not old_style
        self._check_connected()
        if not self._resp_sub_prefix:
            await self._init_request_sub()
        assert self._resp_sub_prefix is not None
        token = self._nuid.next().decode()
        loop = asyncio.get_running_loop()
        answer = self._resp_map[token] = loop.create_future()
        expiry = loop.call_later(timeout, _expire, answer)
        try:
            await self.publish(subject, payload, self._resp_sub_prefix.decode() + token, headers)
            message: Msg = await answer
        finally:
            expiry.cancel()
            self._resp_map.pop(token, None)
        if message.headers and message.headers.get("Status") == NO_RESPONDERS_STATUS:
            raise errors.NoRespondersError
        return message

    async def _init_request_sub(self) -> None:
        await super()._init_request_sub()
        callback = self._request_sub_callback
        self._answers = next(sid for sid, sub in self._subs.items() if sub._cb == callback)  # pyright: ignore[reportPrivateUsage]

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
        if sid != self._answers:
            return await super()._process_msg(sid, subject, reply, data, headers)
        assert self._resp_sub_prefix is not None
        answer: asyncio.Future[Msg] | None = self._resp_map.get(subject[len(self._resp_sub_prefix) :].decode())
        if answer is not None and not answer.done():  # else its caller has given up
            answer.set_result(self._build_message(sid, subject, reply, data, await self._process_headers(headers)))

    @_cancellable
    async def flush(self, timeout: int = 10) -> None:
        """Wait until the server has received everything published before."""
        await self._flush_pending(force_flush=True)  # nats-py would write the ping ahead of buffered data
        await super().flush(timeout)

    async def _flush_pending(self, force_flush: bool = False) -> Any:  # noqa: FBT001, FBT002
        if force_flush or not self.is_connected:
            return await self._flush_with_nats_py(force_flush)
        if self._writing is None:
            self._writing = asyncio.get_running_loop().call_soon(self._write_pending)
        return None

    @_cancellable
    async def _flush_with_nats_py(self, force_flush: bool) -> Any:  # noqa: FBT001
        return await super()._flush_pending(force_flush)

    def _write_pending(self) -> None:
        """Write everything published in this step of the event loop with one system call."""
        self._writing = None
        writer = self._writer()
        if not self._pending or not self.is_connected or writer is None:
            return
        if writer.transport.get_write_buffer_size():  # the server reads slowly: leave it to the flusher, which waits
            assert self._flush_queue is not None
            if self._flush_queue.empty():
                self._flush_queue.put_nowait(asyncio.get_running_loop().create_future())
            return
        writer.write(b"".join(self._pending))
        self._pending.clear()
        self._pending_data_size = 0

    def _writer(self) -> asyncio.StreamWriter | None:
        writer = getattr(self._transport, "_io_writer", None)
        return writer if isinstance(writer, asyncio.StreamWriter) else None

    def _check_connected(self) -> None:
        if not self.is_connected and not self.is_closed:
            raise errors.ConnectionReconnectingError

    def drop_pending(self) -> None:
        """Drop unsent data and fail pending requests, after the connection broke."""
        self._pending.clear()
        self._pending_data_size = 0
        for waiting in list(self._resp_map.values()):
            if not waiting.done():
                waiting.set_exception(errors.ConnectionReconnectingError())
        while self._flush_queue is not None and not self._flush_queue.empty():
            flushed = self._flush_queue.get_nowait()
            if not flushed.done():
                flushed.set_result(None)

    # Connecting and reconnecting

    async def resubscribe(self) -> None:
        """Send the subscriptions made before the first connect; nats-py itself does so only on later ones."""
        self._pending.clear()
        self._pending_data_size = 0
        for sub in list(self._subs.values()):
            await self._send_subscribe(sub)
        await self.flush()

    async def _select_next_server(self) -> None:
        # connect() sets the callbacks and the flush queue, then calls this. subscribe() needs both.
        self.configured.set()
        await super()._select_next_server()

    async def _connect_to_server(self, s: Srv) -> None:
        # Clean up after an attempt that failed half way: a reader left behind would consume the next connection's data.
        for task in (self._reading_task, self._ping_interval_task, self._flusher_task):
            if task is not None and not task.done():
                task.cancel()
        if self._transport is not None:
            self._transport.close()
        await super()._connect_to_server(s)

    async def _close(self, status: int, do_cbs: bool = True) -> None:  # noqa: FBT001, FBT002
        if status != Client.DISCONNECTED:
            return await super()._close(status, do_cbs)
        # A first attempt failed and another will follow. nats-py would close all subscriptions here.
        kept, self._subs = self._subs, {}
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
        # nats-py adds announced servers to its pool; they may be unreachable from here or outside the certificate.
        named = {name: value for name, value in info.items() if name != "connect_urls"}
        await super()._process_info(named, initial_connection)

    def abort(self) -> None:
        """Drop the connection without flushing, for a server that no longer reads."""
        if (writer := self._writer()) is not None:
            writer.transport.abort()

    # Server messages

    async def _process_err(self, err_msg: str) -> None:
        text = err_msg.strip().strip("'")
        refused = AUTHORIZATION_VIOLATION in text
        error = errors.AuthorizationError() if refused else errors.Error(f"nats: {text}")
        await self._error_cb(error)
        if PERMISSIONS_ERR not in text:
            await self._process_op_err(error)

    async def _process_op_err(self, e: Exception) -> None:
        if not (self.is_closed or self.is_reconnecting):
            self.abort()  # nats-py waits for buffered data to be written, forever if the server has stopped reading
        await super()._process_op_err(e)

    async def _process_pong(self) -> None:
        # In nats-py, a pong for a flush that timed out raises InvalidStateError and ends the reader.
        self._pings_outstanding = 0
        if self._pongs:
            future: asyncio.Future[bool] = self._pongs.pop(0)
            self._pongs_received += 1
            if not future.done():
                future.set_result(True)
