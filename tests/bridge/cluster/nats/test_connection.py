"""The connection to NATS: it starts without NATS, reconnects, and never sends stale data after a reconnect."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncGenerator, Coroutine
from pathlib import Path
from typing import Any

import pytest
from nats import errors
from nats.aio.msg import Msg

from handrail.bridge.cluster.nats.address import Address, parse_address
from handrail.bridge.cluster.nats.connection import NatsConnection
from handrail.bridge.cluster.nats.credentials import new_seed, public_key
from handrail.bridge.errors import ClusterAway, ClusterRefused
from handrail.testing import NatsCluster, NatsServer
from tests.bridge.certificate import own_certificate

TIMEOUT = 20


def connect_to(server: NatsServer, *, ping: float = 1.5, **files: Path | None) -> NatsConnection:
    return NatsConnection(parse_address(server.url, **files), "n1", role="both", ping=ping)  # type: ignore[arg-type]


class Changes:
    """Counts connects and disconnects, and waits for them."""

    def __init__(self, connection: NatsConnection) -> None:
        self.ups = self.downs = 0
        self._changed = asyncio.Event()
        connection.on_up.append(self._up)
        connection.on_down.append(self._down)

    def _up(self) -> None:
        self.ups += 1
        self._changed.set()

    def _down(self) -> None:
        self.downs += 1
        self._changed.set()

    async def until(self, *, ups: int = 0, downs: int = 0) -> None:
        while self.ups < ups or self.downs < downs:
            self._changed.clear()
            await self._changed.wait()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[NatsServer]:
    async with asyncio.timeout(TIMEOUT), NatsServer(tmp_path / "nats") as server:
        yield server


async def collect(connection: NatsConnection, subject: str) -> asyncio.Queue[bytes]:
    """Subscribe, collect the messages and answer requests."""
    queue: asyncio.Queue[bytes] = asyncio.Queue()

    async def note(message: Msg) -> None:
        queue.put_nowait(message.data)
        if message.reply:
            await message.respond(b"done " + message.data)

    await connection.nats.subscribe(subject, cb=note)
    return queue


async def test_connects_and_jetstream_answers(server: NatsServer) -> None:
    async with asyncio.timeout(TIMEOUT), connect_to(server) as connection:
        changes = Changes(connection)
        assert not connection.is_up
        await connection.until_up(TIMEOUT)
        assert connection.is_up
        assert changes.ups == 1
        assert (await connection.js.account_info()).streams == 0
        assert connection.servers == 1
    assert not connection.is_up


async def test_starts_without_nats_and_subscribes_when_nats_starts(
    server: NatsServer,
) -> None:
    await server.kill()
    async with asyncio.timeout(TIMEOUT), connect_to(server) as connection:
        changes = Changes(connection)
        queue = await collect(connection, "a.b")
        with pytest.raises(ClusterAway, match=f"does not answer at nats://127.0.0.1:{server.port}"):
            await connection.until_up(0.2)
        with pytest.raises(errors.ConnectionReconnectingError):
            await connection.nats.publish("a.b", b"early")
        await server.start()
        await changes.until(ups=1)
        assert (await connection.nats.request("a.b", b"1", timeout=5)).data == b"done 1"
        assert [queue.get_nowait() for _ in range(queue.qsize())] == [b"1"]


async def test_can_subscribe_right_after_entering_without_nats(server: NatsServer) -> None:
    """Entering waits for the client to be configured, however late the event loop starts the connecting task."""
    await server.kill()
    loop = asyncio.get_running_loop()

    def start_late(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **options: Any) -> Any:
        async def late() -> Any:
            for _ in range(20):
                await asyncio.sleep(0)
            return await coroutine

        return asyncio.Task(late(), loop=loop, **options)

    async with asyncio.timeout(TIMEOUT):
        loop.set_task_factory(start_late)
        try:
            connection = await connect_to(server).__aenter__()
        finally:
            loop.set_task_factory(None)
        try:
            changes, queue = Changes(connection), await collect(connection, "a.b")
            await server.start()
            await changes.until(ups=1)
            await connection.nats.publish("a.b", b"1")
            assert await queue.get() == b"1"
        finally:
            await connection.__aexit__()


async def test_entering_fails_if_the_client_cannot_be_configured(
    server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asyncio.timeout(TIMEOUT):
        connection = connect_to(server)
        monkeypatch.setattr(connection.nats, "_setup_server_pool", lambda _: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            await connection.__aenter__()


async def test_subscriptions_survive_a_failed_first_handshake(tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT):
        server = NatsServer(tmp_path / "nats")
        tried = asyncio.Event()

        async def answer_http(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()
            tried.set()

        other_server = await asyncio.start_server(answer_http, "127.0.0.1", server.port)
        async with asyncio.timeout(TIMEOUT), connect_to(server) as connection:
            queue = await collect(connection, "a.b")
            await tried.wait()
            tried.clear()
            await tried.wait()  # a second attempt means that the first one has failed completely
            other_server.close()
            await other_server.wait_closed()
            async with server:
                await connection.until_up(TIMEOUT)
                await connection.nats.publish("a.b", b"1")
                assert await queue.get() == b"1"


async def test_requests_made_while_disconnected_are_never_delivered(server: NatsServer) -> None:
    async with asyncio.timeout(TIMEOUT), connect_to(server) as connection, connect_to(server) as other:
        changes, others = Changes(connection), Changes(other)
        await connection.until_up(TIMEOUT)
        await other.until_up(TIMEOUT)
        queue = await collect(other, "do.it")
        await other.nats.flush()
        assert (await connection.nats.request("do.it", b"1", timeout=5)).data == b"done 1"
        await server.kill()
        await changes.until(downs=1)
        await others.until(downs=1)
        for number in range(20):
            with pytest.raises(errors.ConnectionReconnectingError):
                await connection.nats.request("do.it", b"given up %d" % number, timeout=5)
            with pytest.raises(errors.ConnectionReconnectingError):
                await connection.nats.publish("do.it", b"given up %d" % number)
        with pytest.raises(errors.ConnectionReconnectingError):
            await connection.js.publish("do.it", b"given up")
        await server.start()
        await changes.until(ups=2)
        await others.until(ups=2)
        await other.nats.flush()
        assert (await connection.nats.request("do.it", b"2", timeout=5)).data == b"done 2"
        assert [queue.get_nowait() for _ in range(queue.qsize())] == [b"1", b"2"]


async def test_unsent_data_is_dropped_when_the_connection_breaks(server: NatsServer) -> None:
    async with asyncio.timeout(TIMEOUT), connect_to(server, ping=0.4) as connection, connect_to(server) as other:
        changes, others = Changes(connection), Changes(other)
        await connection.until_up(TIMEOUT)
        await other.until_up(TIMEOUT)
        queue = await collect(other, "do.it")
        await other.nats.flush()
        server.pause()  # stops reading, so the socket fills up and the rest stays in our buffer
        large = b"x" * 1_000_000
        asked = asyncio.create_task(connection.nats.request("do.it", b"given up", timeout=TIMEOUT))
        sent = [asyncio.create_task(connection.nats.publish("none", large)) for _ in range(32)]
        sent.append(asyncio.create_task(connection.nats.publish("do.it", b"buffered")))
        await changes.until(downs=1)
        with pytest.raises(errors.ConnectionReconnectingError):
            await asked
        await server.kill()
        await asyncio.gather(*sent, return_exceptions=True)
        await server.start()
        await changes.until(ups=2)
        await others.until(ups=2)
        await connection.nats.request("do.it", b"2", timeout=5)
        assert [queue.get_nowait() for _ in range(queue.qsize())] == [b"2"]


async def test_messages_stay_in_order_when_the_server_stops_reading(server: NatsServer) -> None:
    async with asyncio.timeout(TIMEOUT), connect_to(server, ping=TIMEOUT) as connection, connect_to(server) as other:
        await connection.until_up(TIMEOUT)
        await other.until_up(TIMEOUT)
        queue = await collect(other, "a.b")
        await other.nats.flush()
        server.pause()
        blob = b"x" * 200_000  # more than the buffers of a socket hold
        expected = [b"%d %s" % (n, blob if n % 10 == 0 else b"") for n in range(100)]
        for message in expected[:50]:
            await connection.nats.publish("a.b", message)
        await asyncio.sleep(0)
        for message in expected[50:60]:
            await connection.nats.publish("a.b", message)
        server.resume()
        await connection.nats.flush()
        for message in expected[60:]:
            await connection.nats.publish("a.b", message)
        assert [await queue.get() for _ in expected] == expected


async def test_published_messages_are_written_within_one_step_of_the_loop(server: NatsServer) -> None:
    async with asyncio.timeout(TIMEOUT), connect_to(server) as connection:
        await connection.until_up(TIMEOUT)
        for n in range(3):
            await connection.nats.publish("a.b", b"%d" % n)
        assert connection.nats.pending_data_size > 0
        await asyncio.sleep(0)
        assert connection.nats.pending_data_size == 0


async def test_request_ends_without_an_answer(server: NatsServer) -> None:
    async with asyncio.timeout(TIMEOUT), connect_to(server) as connection:
        await connection.until_up(TIMEOUT)
        with pytest.raises(errors.NoRespondersError):
            await connection.nats.request("a.b", b"1", timeout=TIMEOUT)
        silent, asked = asyncio.Queue[Msg](), 0
        await connection.nats.subscribe("a.b", cb=silent.put)
        for _ in range(2):
            with pytest.raises(errors.TimeoutError):
                await connection.nats.request("a.b", b"%d" % (asked := asked + 1), timeout=0.05)
        late = await silent.get()
        await late.respond(b"late")  # its caller has given up
        following = asyncio.create_task(connection.nats.request("a.b", b"3", timeout=TIMEOUT))
        while (message := await silent.get()).data != b"3":
            pass
        await message.respond(b"in time")
        assert (await following).data == b"in time"


async def test_caller_cancelled_together_with_the_answer_is_cancelled(server: NatsServer) -> None:
    async with asyncio.timeout(TIMEOUT), connect_to(server) as connection:
        await connection.until_up(TIMEOUT)
        asking: asyncio.Task[Msg]

        async def answer(message: Msg) -> None:
            await message.respond(b"done")

        await connection.nats.subscribe("a.b", cb=answer)
        process = connection.nats._process_msg

        async def cancel_as_it_arrives(*arguments: Any) -> None:
            await process(*arguments)
            if arguments[0] == connection.nats._answers:
                asking.cancel()

        connection.nats._process_msg = cancel_as_it_arrives  # type: ignore[method-assign]
        asking = asyncio.create_task(connection.nats.request("a.b", b"1", timeout=TIMEOUT))
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert asking.cancelled()


async def test_unresponsive_server_is_replaced_by_another(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(TIMEOUT),
        NatsServer(tmp_path / "a") as first,
        NatsServer(tmp_path / "b") as second,
        NatsConnection(parse_address(f"{first.url},{second.url}"), "n1", role="both", ping=0.2) as connection,
    ):
        changes = Changes(connection)
        await connection.until_up(TIMEOUT)
        assert connection.nats.connected_url is not None
        connected = first if connection.nats.connected_url.port == first.port else second
        connected.pause()
        await changes.until(downs=1, ups=2)
        assert connection.nats.connected_url.port == (second if connected is first else first).port
        connected.resume()


async def test_try_another_switches_to_another_server(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(TIMEOUT),
        NatsServer(tmp_path / "a") as first,
        NatsServer(tmp_path / "b") as second,
        NatsConnection(parse_address(f"{first.url},{second.url}"), "n1", role="both") as connection,
    ):
        changes = Changes(connection)
        await connection.until_up(TIMEOUT)
        assert connection.nats.connected_url is not None
        before = connection.nats.connected_url.port
        connection.try_another()
        await changes.until(downs=1, ups=2)
        assert {before, connection.nats.connected_url.port} == {first.port, second.port}


async def test_try_another_stays_connected_to_a_single_server(server: NatsServer) -> None:
    async with asyncio.timeout(TIMEOUT), connect_to(server) as connection:
        await connection.until_up(TIMEOUT)
        connection.try_another()
        assert await connection.nats.flush() is None
        assert connection.is_up


async def test_closing_does_not_wait_for_an_unresponsive_server(server: NatsServer) -> None:
    async with asyncio.timeout(TIMEOUT), connect_to(server) as connection:
        await connection.until_up(TIMEOUT)
        server.pause()
        sent = [asyncio.create_task(connection.nats.publish("none", b"x" * 1_000_000)) for _ in range(32)]
        await asyncio.wait(sent, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.gather(*sent, return_exceptions=True)
    assert not connection.is_up
    server.resume()


@pytest.mark.campaign
async def test_announced_servers_are_counted_but_not_tried(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(TIMEOUT),
        NatsCluster(tmp_path) as cluster,
        connect_to(cluster.servers[0]) as connection,
    ):
        await connection.until_up(TIMEOUT)
        assert [one.port for one in connection.nats.servers] == [cluster.servers[0].port]
        assert connection.servers == 3


async def test_late_pong_of_a_timed_out_flush_is_ignored(server: NatsServer) -> None:
    async with asyncio.timeout(TIMEOUT), connect_to(server) as connection:
        changes = Changes(connection)
        await connection.until_up(TIMEOUT)
        queue = await collect(connection, "a.b")
        server.pause()
        with pytest.raises(errors.FlushTimeoutError):
            await connection.nats.flush(timeout=0.1)  # type: ignore[arg-type]
        server.resume()
        await connection.nats.flush()
        await connection.nats.publish("a.b", b"1")
        assert await queue.get() == b"1"
        assert changes.downs == 0


# Authentication


def with_nkey(tmp_path: Path, *, known: bool = True) -> tuple[NatsServer, Path]:
    seed = new_seed()
    file = tmp_path / "user.nk"
    file.write_text(seed)
    file.chmod(0o600)
    user = public_key(seed if known else new_seed())
    return NatsServer(tmp_path / "nats", extra=f"authorization {{ users: [{{ nkey: {user} }}] }}\n"), file


async def test_login_with_an_nkey(tmp_path: Path) -> None:
    server, file = with_nkey(tmp_path)
    async with asyncio.timeout(TIMEOUT), server, connect_to(server, credentials=file) as connection:
        await connection.until_up(TIMEOUT)
        assert connection.nats.connected_url is not None


async def test_login_with_user_and_password(tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_text("me:hunter2\n")
    file.chmod(0o600)
    extra = "authorization { users: [{ user: me, password: hunter2 }] }\n"
    server = NatsServer(tmp_path / "nats", extra=extra)
    async with asyncio.timeout(TIMEOUT), server, connect_to(server, credentials=file) as connection:
        await connection.until_up(TIMEOUT)


@pytest.mark.parametrize("given", [True, False], ids=["unknown key", "no key"])
async def test_refused_login_is_final_and_explained(
    tmp_path: Path, given: bool, caplog: pytest.LogCaptureFixture
) -> None:
    server, file = with_nkey(tmp_path, known=False)
    async with asyncio.timeout(TIMEOUT), server, connect_to(server, credentials=file if given else None) as connection:
        with pytest.raises(ClusterRefused, match="refused the connection: the server rejected the credentials"):
            await connection.until_up(TIMEOUT)
        before = (await server.look("/varz"))["total_connections"]
        assert connection.nats.is_closed or not connection.nats.is_connected
        assert (await server.look("/varz"))["total_connections"] == before
    assert file.read_text() not in caplog.text


async def test_login_revoked_while_connected_is_reported(tmp_path: Path) -> None:
    server, file = with_nkey(tmp_path)
    async with asyncio.timeout(TIMEOUT), server, connect_to(server, credentials=file) as connection:
        changes = Changes(connection)
        await connection.until_up(TIMEOUT)
        good = server.folder / "server.conf"
        user = public_key(file.read_text())
        good.write_text(good.read_text().replace(user, public_key(new_seed())))
        assert server.pid is not None
        os.kill(server.pid, signal.SIGHUP)
        await changes.until(downs=1)
        with pytest.raises(ClusterRefused, match="rejected the credentials"):
            await connection.until_up(TIMEOUT)


async def test_server_without_tls_is_refused_if_tls_is_required(server: NatsServer, tmp_path: Path) -> None:
    secret = tmp_path / "credentials"
    secret.write_text("me:hunter2")
    secret.chmod(0o600)
    certificate, _ = own_certificate(tmp_path)
    async with asyncio.timeout(TIMEOUT), connect_to(server, credentials=secret, ca=certificate) as connection:
        with pytest.raises(ClusterRefused, match="TLS is required, but the server does not offer it"):
            await connection.until_up(TIMEOUT)
    async with (
        asyncio.timeout(TIMEOUT),
        NatsConnection(Address(servers=(server.url.replace("nats:", "tls:"),)), "n1", role="both") as connection,
    ):
        with pytest.raises(ClusterRefused, match="TLS is required"):
            await connection.until_up(TIMEOUT)


async def test_server_certificate_must_be_signed_by_the_given_ca(tmp_path: Path) -> None:
    certificate, key = own_certificate(tmp_path)
    (tmp_path / "other").mkdir()
    other, _ = own_certificate(tmp_path / "other")
    extra = f'tls {{ cert_file: "{certificate}", key_file: "{key}" }}\n'
    async with asyncio.timeout(TIMEOUT), NatsServer(tmp_path / "nats", extra=extra) as server:
        async with connect_to(server, ca=certificate) as connection:
            await connection.until_up(TIMEOUT)
            await connection.js.account_info()
        async with connect_to(server, ca=other) as connection:
            with pytest.raises(ClusterRefused, match="certificate is not trusted"):
                await connection.until_up(TIMEOUT)


# Logging and callbacks


async def test_repeated_error_is_logged_once(server: NatsServer, caplog: pytest.LogCaptureFixture) -> None:
    await server.kill()
    with caplog.at_level(logging.WARNING, "handrail"):
        async with asyncio.timeout(TIMEOUT), connect_to(server) as connection:
            with pytest.raises(ClusterAway):
                await connection.until_up(0.6)
            await server.start()
            await connection.until_up(TIMEOUT)
    assert len([one for one in caplog.records if "NATS:" in one.getMessage()]) == 1


async def test_failing_callback_does_not_stop_the_others(server: NatsServer, caplog: pytest.LogCaptureFixture) -> None:
    async with asyncio.timeout(TIMEOUT), connect_to(server) as connection:
        connection.on_up.append(lambda: 1 // 0)  # type: ignore[arg-type,return-value]
        changes = Changes(connection)
        await changes.until(ups=1)
    assert "a callback failed when the connection to NATS changed" in caplog.text


async def test_permission_violation_is_logged_and_keeps_the_connection(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rule = 'default_permissions: { publish: "ok.>", subscribe: ">" }'
    extra = f"authorization {{ {rule}, users: [{{ user: a, password: b }}] }}\n"
    file = tmp_path / "credentials"
    file.write_text("a:b")
    file.chmod(0o600)
    server = NatsServer(tmp_path / "nats", extra=extra)
    async with asyncio.timeout(TIMEOUT), server, connect_to(server, credentials=file) as connection:
        changes = Changes(connection)
        await connection.until_up(TIMEOUT)
        queue = await collect(connection, "ok.a")
        await connection.nats.publish("not.mine", b"")
        await connection.nats.publish("ok.a", b"1")
        assert await queue.get() == b"1"
        assert changes.downs == 0
    assert "permissions violation for publish to" in caplog.text
