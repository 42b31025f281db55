"""The connection to NATS: it is there before NATS is, comes back by itself, and keeps nothing for later."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from nats import errors
from nats.aio.msg import Msg

from handrail.bridge.cluster.link.address import Address, address
from handrail.bridge.cluster.link.link import Link
from handrail.bridge.cluster.link.nkey import new_seed, public_key
from handrail.bridge.errors import ClusterAway, ClusterRefused
from handrail.testing import NatsCluster, NatsServer
from tests.bridge.certificate import own_certificate

PATIENCE = 20


def link_to(server: NatsServer, *, ping: float = 1.5, **files: Path | None) -> Link:
    return Link(address(server.url, **files), "n1", role="both", ping=ping)  # type: ignore[arg-type]


class Turns:
    """Counts how often a connection came and went, and lets others wait for it."""

    def __init__(self, link: Link) -> None:
        self.ups = self.downs = 0
        self._changed = asyncio.Event()
        link.on_up.append(self._up)
        link.on_down.append(self._down)

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
    async with asyncio.timeout(PATIENCE), NatsServer(tmp_path / "nats") as server:
        yield server


async def heard(link: Link, subject: str) -> asyncio.Queue[bytes]:
    """What arrives under a subject from now on."""
    queue: asyncio.Queue[bytes] = asyncio.Queue()

    async def note(message: Msg) -> None:
        queue.put_nowait(message.data)
        if message.reply:
            await message.respond(b"done " + message.data)

    await link.nats.subscribe(subject, cb=note)
    return queue


async def test_it_is_up_after_a_moment_and_jetstream_answers(server: NatsServer) -> None:
    async with asyncio.timeout(PATIENCE), link_to(server) as link:
        turns = Turns(link)
        assert not link.is_up
        await link.until_up(PATIENCE)
        assert link.is_up
        assert turns.ups == 1
        assert (await link.js.account_info()).streams == 0
        assert link.servers == 1
    assert not link.is_up


async def test_it_starts_where_nats_is_away_and_subscriptions_are_there_when_it_comes(
    server: NatsServer,
) -> None:
    await server.kill()
    async with asyncio.timeout(PATIENCE), link_to(server) as link:
        turns = Turns(link)
        queue = await heard(link, "a.b")
        with pytest.raises(ClusterAway, match=f"does not answer at nats://127.0.0.1:{server.port}"):
            await link.until_up(0.2)
        with pytest.raises(errors.ConnectionReconnectingError):
            await link.nats.publish("a.b", b"early")
        await server.start()
        await turns.until(ups=1)
        assert (await link.nats.request("a.b", b"1", timeout=5)).data == b"done 1"
        assert [queue.get_nowait() for _ in range(queue.qsize())] == [b"1"]


async def test_subscriptions_outlive_a_first_attempt_that_came_half_way(tmp_path: Path) -> None:
    """Somebody accepts and says nothing, or nonsense; then NATS is there."""
    async with asyncio.timeout(PATIENCE):
        server = NatsServer(tmp_path / "nats")
        tried = asyncio.Event()

        async def nonsense(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()
            tried.set()

        strange = await asyncio.start_server(nonsense, "127.0.0.1", server.port)
        async with asyncio.timeout(PATIENCE), link_to(server) as link:
            queue = await heard(link, "a.b")
            await tried.wait()
            tried.clear()
            await tried.wait()  # so the first attempt has failed as a whole
            strange.close()
            await strange.wait_closed()
            async with server:
                await link.until_up(PATIENCE)
                await link.nats.publish("a.b", b"1")
                assert await queue.get() == b"1"


async def test_nothing_said_while_nats_was_away_is_done_when_it_is_back(server: NatsServer) -> None:
    async with asyncio.timeout(PATIENCE), link_to(server) as link, link_to(server) as other:
        turns, others = Turns(link), Turns(other)
        await link.until_up(PATIENCE)
        await other.until_up(PATIENCE)
        queue = await heard(other, "do.it")
        await other.nats.flush()
        assert (await link.nats.request("do.it", b"1", timeout=5)).data == b"done 1"
        await server.kill()
        await turns.until(downs=1)
        await others.until(downs=1)
        for number in range(20):
            with pytest.raises(errors.ConnectionReconnectingError):
                await link.nats.request("do.it", b"given up %d" % number, timeout=5)
            with pytest.raises(errors.ConnectionReconnectingError):
                await link.nats.publish("do.it", b"given up %d" % number)
        with pytest.raises(errors.ConnectionReconnectingError):
            await link.js.publish("do.it", b"given up")
        await server.start()
        await turns.until(ups=2)
        await others.until(ups=2)
        await other.nats.flush()
        assert (await link.nats.request("do.it", b"2", timeout=5)).data == b"done 2"
        assert [queue.get_nowait() for _ in range(queue.qsize())] == [b"1", b"2"]


async def test_what_was_on_its_way_when_the_connection_broke_is_not_sent_over_the_next_one(server: NatsServer) -> None:
    async with asyncio.timeout(PATIENCE), link_to(server, ping=0.4) as link, link_to(server) as other:
        turns, others = Turns(link), Turns(other)
        await link.until_up(PATIENCE)
        await other.until_up(PATIENCE)
        queue = await heard(other, "do.it")
        await other.nats.flush()
        server.pause()  # it takes nothing any more, until the pipe is full and all else stays with us
        large = b"x" * 1_000_000
        asked = asyncio.create_task(link.nats.request("do.it", b"given up", timeout=PATIENCE))
        sent = [asyncio.create_task(link.nats.publish("none", large)) for _ in range(32)]
        sent.append(asyncio.create_task(link.nats.publish("do.it", b"stayed behind")))
        await turns.until(downs=1)
        with pytest.raises(errors.ConnectionReconnectingError):
            await asked
        await server.kill()
        await asyncio.gather(*sent, return_exceptions=True)
        await server.start()
        await turns.until(ups=2)
        await others.until(ups=2)
        await link.nats.request("do.it", b"2", timeout=5)
        assert [queue.get_nowait() for _ in range(queue.qsize())] == [b"2"]


async def test_a_server_that_stands_still_is_left_for_another(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(PATIENCE),
        NatsServer(tmp_path / "a") as first,
        NatsServer(tmp_path / "b") as second,
        Link(address(f"{first.url},{second.url}"), "n1", role="both", ping=0.2) as link,
    ):
        turns = Turns(link)
        await link.until_up(PATIENCE)
        assert link.nats.connected_url is not None
        with_us = first if link.nats.connected_url.port == first.port else second
        with_us.pause()
        await turns.until(downs=1, ups=2)
        assert link.nats.connected_url.port == (second if with_us is first else first).port
        with_us.resume()


async def test_a_server_that_has_lost_the_others_is_left_for_another(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(PATIENCE),
        NatsServer(tmp_path / "a") as first,
        NatsServer(tmp_path / "b") as second,
        Link(address(f"{first.url},{second.url}"), "n1", role="both") as link,
    ):
        turns = Turns(link)
        await link.until_up(PATIENCE)
        assert link.nats.connected_url is not None
        before = link.nats.connected_url.port
        link.try_another()
        await turns.until(downs=1, ups=2)
        assert {before, link.nats.connected_url.port} == {first.port, second.port}


async def test_where_there_is_one_server_it_is_not_left(server: NatsServer) -> None:
    async with asyncio.timeout(PATIENCE), link_to(server) as link:
        await link.until_up(PATIENCE)
        link.try_another()
        assert await link.nats.flush() is None
        assert link.is_up


async def test_closing_does_not_wait_for_a_server_that_stands_still(server: NatsServer) -> None:
    async with asyncio.timeout(PATIENCE), link_to(server) as link:
        await link.until_up(PATIENCE)
        server.pause()
        sent = [asyncio.create_task(link.nats.publish("none", b"x" * 1_000_000)) for _ in range(32)]
        await asyncio.sleep(0)
    await asyncio.gather(*sent, return_exceptions=True)
    assert not link.is_up
    server.resume()


@pytest.mark.campaign
async def test_only_the_servers_that_were_named_are_tried_and_the_others_are_counted(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE), NatsCluster(tmp_path) as cluster, link_to(cluster.servers[0]) as link:
        await link.until_up(PATIENCE)
        assert [one.port for one in link.nats.servers] == [cluster.servers[0].port]
        assert link.servers == 3


async def test_an_answer_to_a_flush_that_was_given_up_disturbs_nothing(server: NatsServer) -> None:
    async with asyncio.timeout(PATIENCE), link_to(server) as link:
        turns = Turns(link)
        await link.until_up(PATIENCE)
        queue = await heard(link, "a.b")
        server.pause()
        with pytest.raises(errors.FlushTimeoutError):
            await link.nats.flush(timeout=0.1)  # type: ignore[arg-type]
        server.resume()
        await link.nats.flush()
        await link.nats.publish("a.b", b"1")
        assert await queue.get() == b"1"
        assert turns.downs == 0


# Who may come in


def with_nkey(tmp_path: Path, *, known: bool = True) -> tuple[NatsServer, Path]:
    seed = new_seed()
    file = tmp_path / "who.nk"
    file.write_text(seed)
    file.chmod(0o600)
    user = public_key(seed if known else new_seed())
    return NatsServer(tmp_path / "nats", extra=f"authorization {{ users: [{{ nkey: {user} }}] }}\n"), file


async def test_an_nkey_from_a_file_lets_us_in(tmp_path: Path) -> None:
    server, file = with_nkey(tmp_path)
    async with asyncio.timeout(PATIENCE), server, link_to(server, credentials=file) as link:
        await link.until_up(PATIENCE)
        assert link.nats.connected_url is not None


async def test_user_and_password_from_a_file_let_us_in(tmp_path: Path) -> None:
    file = tmp_path / "who"
    file.write_text("me:hunter2\n")
    file.chmod(0o600)
    extra = "authorization { users: [{ user: me, password: hunter2 }] }\n"
    server = NatsServer(tmp_path / "nats", extra=extra)
    async with asyncio.timeout(PATIENCE), server, link_to(server, credentials=file) as link:
        await link.until_up(PATIENCE)


@pytest.mark.parametrize("given", [True, False], ids=["another key", "no key"])
async def test_to_be_refused_is_final_and_said_in_words(
    tmp_path: Path, given: bool, caplog: pytest.LogCaptureFixture
) -> None:
    server, file = with_nkey(tmp_path, known=False)
    async with asyncio.timeout(PATIENCE), server, link_to(server, credentials=file if given else None) as link:
        with pytest.raises(ClusterRefused, match="does not let us in: it does not accept our credentials"):
            await link.until_up(PATIENCE)
        before = (await server.look("/varz"))["total_connections"]
        assert link.nats.is_closed or not link.nats.is_connected
        assert (await server.look("/varz"))["total_connections"] == before
    assert file.read_text() not in caplog.text


async def test_who_was_in_and_is_refused_now_says_so_and_comes_back_when_let_in_again(tmp_path: Path) -> None:
    server, file = with_nkey(tmp_path)
    async with asyncio.timeout(PATIENCE), server, link_to(server, credentials=file) as link:
        turns = Turns(link)
        await link.until_up(PATIENCE)
        good = server.folder / "server.conf"
        user = public_key(file.read_text())
        good.write_text(good.read_text().replace(user, public_key(new_seed())))
        assert server.pid is not None
        os.kill(server.pid, signal.SIGHUP)
        await turns.until(downs=1)
        with pytest.raises(ClusterRefused, match="does not accept our credentials"):
            await link.until_up(PATIENCE)


async def test_where_tls_was_asked_for_nothing_is_said_to_a_server_without_it(
    server: NatsServer, tmp_path: Path
) -> None:
    secret = tmp_path / "who"
    secret.write_text("me:hunter2")
    secret.chmod(0o600)
    certificate, _ = own_certificate(tmp_path)
    async with asyncio.timeout(PATIENCE), link_to(server, credentials=secret, ca=certificate) as link:
        with pytest.raises(ClusterRefused, match="TLS was asked for, and the server offers none"):
            await link.until_up(PATIENCE)
    async with (
        asyncio.timeout(PATIENCE),
        Link(Address(servers=(server.url.replace("nats:", "tls:"),)), "n1", role="both") as link,
    ):
        with pytest.raises(ClusterRefused, match="TLS was asked for"):
            await link.until_up(PATIENCE)


async def test_a_certificate_that_was_named_is_trusted_and_another_is_not(tmp_path: Path) -> None:
    certificate, key = own_certificate(tmp_path)
    (tmp_path / "other").mkdir()
    other, _ = own_certificate(tmp_path / "other")
    extra = f'tls {{ cert_file: "{certificate}", key_file: "{key}" }}\n'
    async with asyncio.timeout(PATIENCE), NatsServer(tmp_path / "nats", extra=extra) as server:
        async with link_to(server, ca=certificate) as link:
            await link.until_up(PATIENCE)
            await link.js.account_info()
        async with link_to(server, ca=other) as link:
            with pytest.raises(ClusterRefused, match="certificate is not to be trusted"):
                await link.until_up(PATIENCE)


# What is said about it


async def test_what_goes_wrong_again_and_again_is_logged_once(
    server: NatsServer, caplog: pytest.LogCaptureFixture
) -> None:
    await server.kill()
    with caplog.at_level(logging.WARNING, "handrail"):
        async with asyncio.timeout(PATIENCE), link_to(server) as link:
            with pytest.raises(ClusterAway):
                await link.until_up(0.6)
            await server.start()
            await link.until_up(PATIENCE)
    assert len([one for one in caplog.records if "NATS:" in one.getMessage()]) == 1


async def test_one_who_fails_when_told_keeps_nobody_else_from_knowing(
    server: NatsServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with asyncio.timeout(PATIENCE), link_to(server) as link:
        link.on_up.append(lambda: 1 // 0)  # type: ignore[arg-type,return-value]
        turns = Turns(link)
        await turns.until(ups=1)
    assert "something failed when the connection to NATS changed" in caplog.text


async def test_what_we_may_not_do_is_logged_and_ends_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rule = 'default_permissions: { publish: "ok.>", subscribe: ">" }'
    extra = f"authorization {{ {rule}, users: [{{ user: a, password: b }}] }}\n"
    file = tmp_path / "who"
    file.write_text("a:b")
    file.chmod(0o600)
    server = NatsServer(tmp_path / "nats", extra=extra)
    async with asyncio.timeout(PATIENCE), server, link_to(server, credentials=file) as link:
        turns = Turns(link)
        await link.until_up(PATIENCE)
        queue = await heard(link, "ok.a")
        await link.nats.publish("not.mine", b"")
        await link.nats.publish("ok.a", b"1")
        assert await queue.get() == b"1"
        assert turns.downs == 0
    assert "permissions violation for publish to" in caplog.text
