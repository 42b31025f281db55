"""What `handrail cluster init` sets up, with real servers: they start, and each role may what it needs and no more."""

from __future__ import annotations

import asyncio
import stat
import subprocess
from collections.abc import AsyncGenerator, Coroutine
from pathlib import Path
from typing import Any

import pytest
from nats import errors
from nats.aio.msg import Msg
from nats.js.errors import APIError

from handrail.bridge.cluster.founding.founding import found
from handrail.bridge.cluster.founding.roles import OUR_STREAMS, ROLES
from handrail.bridge.cluster.founding.server_configuration import server
from handrail.bridge.cluster.link import names
from handrail.bridge.cluster.link.link import Link
from handrail.bridge.cluster.store.layout import lay_out
from handrail.bridge.errors import ClusterRefused
from handrail.testing.nats_server import find_nats_server
from tests.bridge.cluster.founded import PATIENCE, Founded, founded, free_servers

ONE = "6f1c1f7e-0000-4000-8000-000000000001"


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncGenerator[Founded]:
    async with founded(tmp_path / "cluster") as cluster:
        async with asyncio.timeout(PATIENCE), cluster.link("gateway") as link:
            await link.until_up(PATIENCE)
            await lay_out(link.js, 1)
        yield cluster


async def up(link: Link) -> Link:
    await link.until_up(PATIENCE)
    return link


async def answering(link: Link, subject: str) -> None:
    async def answer(message: Msg) -> None:
        await message.respond(b"done " + message.data)

    await link.nats.subscribe(subject, cb=answer)
    await link.nats.flush()


async def may_not(link: Link, work: Coroutine[Any, Any, Any]) -> None:
    """NATS says that this is not allowed, and nothing comes of it."""
    refused: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()

    async def note(error: Exception) -> None:
        if not refused.done():
            refused.set_result(error)

    before, link.nats._error_cb = link.nats._error_cb, note  # type: ignore[method-assign]
    doing = asyncio.ensure_future(work)
    try:
        await asyncio.wait({doing, refused}, return_when=asyncio.FIRST_COMPLETED)
        assert not doing.done(), doing
        assert "permissions violation" in str(refused.result())
    finally:
        link.nats._error_cb = before  # type: ignore[method-assign]
        doing.cancel()
        await asyncio.gather(doing, return_exceptions=True)


# What each role needs


async def test_a_gateway_asks_who_runs_a_session_and_a_runner_answers(cluster: Founded) -> None:
    async with asyncio.timeout(PATIENCE), cluster.link("gateway") as gateway, cluster.link("runner") as runner:
        await up(gateway)
        await up(runner)
        for subject in (names.do_subject(ONE), names.follow_subject(ONE), names.node_subject("a"), names.ALL_NODES):
            await answering(runner, subject)
            assert (await gateway.nats.request(subject, b"1", timeout=5)).data == b"done 1"
        heard = await gateway.nats.subscribe(names.live_subject(ONE))
        await gateway.nats.flush()
        await runner.nats.publish(names.live_subject(ONE), b"live")
        assert (await heard.next_msg(5)).data == b"live"


@pytest.mark.parametrize("role", ["runner", "both"])
async def test_who_runs_sessions_keeps_and_reads_all_that_belongs_to_them(cluster: Founded, role: str) -> None:
    async with asyncio.timeout(PATIENCE), cluster.link(role) as link:
        await up(link)
        await lay_out(link.js, 1)  # it is there and right: a look is enough
        headers = {"Nats-Expected-Last-Subject-Sequence": "0", "Nats-Msg-Id": "a"}
        await link.js.publish(names.events_subject(ONE), b"1", headers=headers)
        await link.js.publish(names.receipt_subject("c"), b"1")
        assert (await link.js.get_last_msg(names.EVENTS, names.events_subject(ONE))).data == b"1"
        assert (await link.js.get_last_msg(names.EVENTS, names.events_subject(ONE), direct=True)).data == b"1"
        reading = await link.js.subscribe(names.events_subject(ONE), ordered_consumer=True)
        assert (await reading.next_msg(5)).data == b"1"
        await reading.unsubscribe()
        for bucket in (names.NODES, names.OWNERS, names.SESSIONS):
            kv = await link.js.key_value(bucket)
            watch = await kv.watchall()
            await kv.put("key", b"1")
            while (entry := await watch.updates(timeout=5)) is None:
                pass
            assert (entry.key, entry.value) == ("key", b"1")
            await watch.stop()
            await kv.delete("key")
        await link.js.publish(f"$KV.{names.NODES}.key", b"1", msg_ttl=15.0)
        store = await link.js.object_store(names.TRANSCRIPTS)
        for _ in range(2):
            await store.put("a", b"x" * 300_000)
        assert (await store.get("a")).data == b"x" * 300_000
        await store.delete("a")
        assert await link.js.purge_stream(names.EVENTS, subject=names.events_subject(ONE))


@pytest.mark.parametrize("role", ["gateway", "both"])
async def test_a_gateway_reads_everything_and_keeps_what_is_its_own(cluster: Founded, role: str) -> None:
    async with asyncio.timeout(PATIENCE), cluster.link(role) as link, cluster.link("runner") as runner:
        await up(link)
        await up(runner)
        await runner.js.publish(names.events_subject(ONE), b"1")
        await (await runner.js.object_store(names.TRANSCRIPTS)).put("a", b"xyz")
        reading = await link.js.subscribe(names.events_subject(ONE), ordered_consumer=True)
        assert (await reading.next_msg(5)).data == b"1"
        assert (await (await link.js.object_store(names.TRANSCRIPTS)).get("a")).data == b"xyz"
        for bucket in (names.NODES, names.OWNERS, names.SETTINGS):
            await (await link.js.key_value(bucket)).put("key", b"1")
        uploads = await link.js.object_store(names.UPLOADS)
        for _ in range(2):
            await uploads.put("picture", b"x" * 300_000)
        assert (await (await runner.js.object_store(names.UPLOADS)).get("picture")).data == b"x" * 300_000


async def test_a_gateway_that_runs_sessions_asks_and_answers(cluster: Founded) -> None:
    async with asyncio.timeout(PATIENCE), cluster.link("both") as one, cluster.link("both") as other:
        await up(one)
        await up(other)
        await answering(other, names.do_subject(ONE))
        assert (await one.nats.request(names.do_subject(ONE), b"1", timeout=5)).data == b"done 1"
        assert (await other.nats.request(names.do_subject(ONE), b"2", timeout=5)).data == b"done 2"


@pytest.mark.parametrize("role", ROLES)
async def test_everybody_may_look_at_the_cluster(cluster: Founded, role: str) -> None:
    async with asyncio.timeout(PATIENCE), cluster.link("viewer", key=role) as link:
        await up(link)
        assert (await link.js.account_info()).streams == len(OUR_STREAMS)
        for name in OUR_STREAMS:
            assert (await link.js.stream_info(name)).config.name == name


# What they may not


async def test_a_runner_commands_nobody_and_hears_no_answers_that_are_not_its_own(cluster: Founded) -> None:
    async with (
        asyncio.timeout(PATIENCE),
        cluster.link("runner") as bad,
        cluster.link("runner") as good,
        cluster.link("gateway") as gateway,
    ):
        for link in (bad, good, gateway):
            await up(link)
        told: list[bytes] = []

        async def note(message: Msg) -> None:
            told.append(message.data)

        for subject in (names.do_subject(ONE), names.node_subject("a")):
            await good.nats.subscribe(subject, cb=note)
        await good.nats.flush()
        for subject in (names.do_subject(ONE), names.node_subject("a"), names.follow_subject(ONE), names.ALL_NODES):
            await may_not(bad, bad.nats.request(subject, b"bad"))
        for subject in (">", "_INBOX.>", "_INBOX.gateway.>", "handrail.live.*", "handrail.>", "$SYS.>", "$KV.>"):
            heard = await bad.nats.subscribe(subject, cb=note)
            await bad.nats.flush()
            assert heard
        await gateway.nats.publish(names.do_subject(ONE), b"good")
        await good.nats.publish(names.live_subject(ONE), b"live")
        await good.nats.publish(names.live_subject(ONE), b"live")
        await gateway.nats.flush()
        await good.nats.flush()
        await bad.nats.flush()
        assert told == [b"good"]


@pytest.mark.parametrize("role", ROLES)
async def test_nobody_deletes_a_stream_or_makes_one_that_is_not_ours(cluster: Founded, role: str) -> None:
    async with asyncio.timeout(PATIENCE), cluster.link(role) as link:
        await up(link)
        for name in OUR_STREAMS[:3]:
            await may_not(link, link.js.delete_stream(name))
        await may_not(link, link.js.add_stream(name="mine", subjects=["mine"]))
        await may_not(link, link.js.delete_msg(names.EVENTS, 1))
        await may_not(link, link.nats.request("$JS.API.META.LEADER.STEPDOWN", b""))
        await may_not(link, link.nats.request(f"$JS.API.STREAM.SNAPSHOT.{names.EVENTS}", b"{}"))


@pytest.mark.parametrize("role", ["runner", "viewer"])
async def test_who_has_no_page_changes_no_stream(cluster: Founded, role: str) -> None:
    async with asyncio.timeout(PATIENCE), cluster.link("gateway") as gateway, cluster.link(role) as link:
        await up(gateway)
        await up(link)
        config = (await gateway.js.stream_info(names.EVENTS)).config
        config.max_age = 1.0
        await may_not(link, link.js.update_stream(config))


async def test_a_gateway_that_runs_nothing_writes_no_event_and_takes_no_command(cluster: Founded) -> None:
    async with asyncio.timeout(PATIENCE), cluster.link("gateway") as gateway, cluster.link("both") as other:
        await up(gateway)
        await up(other)
        for subject in (names.events_subject(ONE), names.receipt_subject("c"), f"$O.{names.TRANSCRIPTS}.M.a"):
            await may_not(gateway, gateway.js.publish(subject, b"bad"))
        await may_not(gateway, gateway.js.purge_stream(names.EVENTS))
        await answering(gateway, names.do_subject(ONE))
        with pytest.raises(errors.NoRespondersError):
            await other.nats.request(names.do_subject(ONE), b"1", timeout=5)
        assert (await other.js.stream_info(names.EVENTS)).state.messages == 0


async def test_who_only_looks_reads_nothing_that_is_said(cluster: Founded) -> None:
    async with asyncio.timeout(PATIENCE), cluster.link("viewer") as viewer, cluster.link("runner") as runner:
        await up(viewer)
        await up(runner)
        await runner.js.publish(names.events_subject(ONE), b"secret")
        await (await runner.js.key_value(names.SESSIONS)).put(ONE, b"secret")
        await may_not(viewer, viewer.js.get_last_msg(names.EVENTS, names.events_subject(ONE)))
        await may_not(viewer, viewer.js.get_last_msg(names.EVENTS, names.events_subject(ONE), direct=True))
        await may_not(viewer, viewer.js.get_last_msg(f"KV_{names.SESSIONS}", f"$KV.{names.SESSIONS}.{ONE}"))
        await may_not(
            viewer, viewer.js.subscribe(names.events_subject(ONE), stream=names.EVENTS, ordered_consumer=True)
        )
        await may_not(viewer, viewer.js.publish(f"$KV.{names.NODES}.a", b"bad"))
        await may_not(viewer, viewer.nats.request(names.do_subject(ONE), b""))


async def test_nobody_comes_in_without_a_key(cluster: Founded, tmp_path: Path) -> None:
    from handrail.bridge.cluster.link.address import address

    async with asyncio.timeout(PATIENCE), Link(address(cluster.url), "nobody", role="both") as link:
        with pytest.raises(ClusterRefused, match="does not accept our credentials"):
            await link.until_up(PATIENCE)


# Three servers, TLS


async def test_three_servers_over_tls_keep_three_copies(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(PATIENCE),
        founded(tmp_path / "c", count=3, tls=True) as cluster,
        cluster.link("both") as link,
    ):
        await up(link)
        assert link.servers == 3
        await _laid_out(link)
        info = await link.js.stream_info(names.EVENTS)
        assert info.cluster is not None
        assert len(info.cluster.replicas or []) == 2


async def _laid_out(link: Link) -> None:
    """The servers have to find each other first."""
    from handrail.bridge.errors import ClusterAway

    while True:
        try:
            return await lay_out(link.js, 3)
        except (ClusterAway, ClusterRefused, APIError):
            await asyncio.sleep(0.1)


# The files


def test_nats_takes_every_file_and_no_secret_stands_in_it(tmp_path: Path) -> None:
    servers = free_servers(3)
    folder = tmp_path / "cluster"
    found(folder, servers, store="store", disk="1GB", tls=True)
    for one in servers:
        command = [str(find_nats_server()), "-c", "nats.conf", "-t"]
        tried = subprocess.run(command, cwd=folder / one.name, capture_output=True, text=True, check=False)
        assert tried.returncode == 0, tried.stderr
        text = (folder / one.name / "nats.conf").read_text()
        assert "password" not in text
        for key in (folder / "keys").iterdir():
            assert key.read_text().strip() not in text
    for path in folder.rglob("*"):
        secret = path.suffix == ".nk" or path.name in ("routes.conf", "key.pem", "ca-key.pem")
        assert not secret or stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_nothing_is_overwritten_and_two_servers_are_in_two_places(tmp_path: Path) -> None:
    servers = [server(1, "127.0.0.1:4222"), server(2, "127.0.0.1:4222")]
    with pytest.raises(ClusterRefused, match="same place"):
        found(tmp_path / "a", servers, store="store", disk="1GB", tls=False)
    found(tmp_path / "b", servers[:1], store="store", disk="1GB", tls=False)
    before = sorted((tmp_path / "b").rglob("*"))
    with pytest.raises(ClusterRefused, match="nothing in it is overwritten"):
        found(tmp_path / "b", servers[:1], store="store", disk="1GB", tls=False)
    assert sorted((tmp_path / "b").rglob("*")) == before


@pytest.mark.parametrize(
    "text", ["", "a b", "box:0", "box:99999", "box:65000", 'box"', "nats://box", "a\nb", "box:1:2"]
)
def test_what_is_no_server_is_refused(text: str) -> None:
    with pytest.raises(ClusterRefused, match="is no server"):
        server(1, text)
