"""The files of `handrail cluster init` with real servers: they start, and each role has exactly its permissions."""

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

from handrail.bridge.cluster.nats import names
from handrail.bridge.cluster.nats.address import parse_address
from handrail.bridge.cluster.nats.connection import NatsConnection
from handrail.bridge.cluster.setup.cluster_files import (
    add_machine,
    parse_server,
    remove_machine,
    write_accounts,
    write_cluster_files,
)
from handrail.bridge.cluster.setup.roles import ALL_STREAMS, ROLES
from handrail.bridge.cluster.store.layout import lay_out
from handrail.bridge.errors import ClusterAway, ClusterRefused
from handrail.testing.nats_server import find_nats_server
from tests.bridge.cluster.initialized_cluster import TIMEOUT, InitializedCluster, free_servers, initialized_cluster

ONE = "6f1c1f7e-0000-4000-8000-000000000001"


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncGenerator[InitializedCluster]:
    async with initialized_cluster(tmp_path / "cluster") as cluster:
        async with asyncio.timeout(TIMEOUT), cluster.connect("gateway") as connection:
            await connection.until_up(TIMEOUT)
            await lay_out(connection.js, 1)
        yield cluster


async def connected(connection: NatsConnection) -> NatsConnection:
    await connection.until_up(TIMEOUT)
    return connection


async def answer_requests(connection: NatsConnection, subject: str) -> None:
    async def answer(message: Msg) -> None:
        await message.respond(b"done " + message.data)

    await connection.nats.subscribe(subject, cb=answer)
    await connection.nats.flush()


async def assert_denied(connection: NatsConnection, work: Coroutine[Any, Any, Any]) -> None:
    """NATS reports a permissions violation, and the work does not complete."""
    refused: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()

    async def note(error: Exception) -> None:
        if not refused.done():
            refused.set_result(error)

    before, connection.nats._error_cb = connection.nats._error_cb, note  # type: ignore[method-assign]
    doing = asyncio.ensure_future(work)
    try:
        await asyncio.wait({doing, refused}, return_when=asyncio.FIRST_COMPLETED)
        assert not doing.done(), doing
        assert "permissions violation" in str(refused.result())
    finally:
        connection.nats._error_cb = before  # type: ignore[method-assign]
        doing.cancel()
        await asyncio.gather(doing, return_exceptions=True)


# Permissions that each role has


async def test_runner_answers_requests_of_a_gateway(cluster: InitializedCluster) -> None:
    async with asyncio.timeout(TIMEOUT), cluster.connect("gateway") as gateway, cluster.connect("runner") as runner:
        await connected(gateway)
        await connected(runner)
        for subject in (names.do_subject(ONE), names.follow_subject(ONE), names.node_subject("a"), names.ALL_NODES):
            await answer_requests(runner, subject)
            assert (await gateway.nats.request(subject, b"1", timeout=5)).data == b"done 1"
        heard = await gateway.nats.subscribe(names.live_subject(ONE))
        await gateway.nats.flush()
        await runner.nats.publish(names.live_subject(ONE), b"live")
        assert (await heard.next_msg(5)).data == b"live"


@pytest.mark.parametrize("role", ["runner", "both"])
async def test_runner_writes_and_reads_session_data(cluster: InitializedCluster, role: str) -> None:
    async with asyncio.timeout(TIMEOUT), cluster.connect(role) as connection:
        await connected(connection)
        await lay_out(connection.js, 1)  # the streams exist already, so this only reads
        headers = {"Nats-Expected-Last-Subject-Sequence": "0", "Nats-Msg-Id": "a"}
        await connection.js.publish(names.events_subject(ONE), b"1", headers=headers)
        await connection.js.publish(names.receipt_subject("c"), b"1")
        assert (await connection.js.get_last_msg(names.EVENTS, names.events_subject(ONE))).data == b"1"
        assert (await connection.js.get_last_msg(names.EVENTS, names.events_subject(ONE), direct=True)).data == b"1"
        reading = await connection.js.subscribe(names.events_subject(ONE), ordered_consumer=True)
        assert (await reading.next_msg(5)).data == b"1"
        await reading.unsubscribe()
        for bucket in (names.NODES, names.OWNERS, names.SESSIONS):
            kv = await connection.js.key_value(bucket)
            watch = await kv.watchall()
            await kv.put("key", b"1")
            while (entry := await watch.updates(timeout=5)) is None:
                pass
            assert (entry.key, entry.value) == ("key", b"1")
            await watch.stop()
            await kv.delete("key")
        await connection.js.publish(f"$KV.{names.NODES}.key", b"1", msg_ttl=15.0)
        store = await connection.js.object_store(names.TRANSCRIPTS)
        for _ in range(2):
            await store.put("a", b"x" * 300_000)
        assert (await store.get("a")).data == b"x" * 300_000
        await store.delete("a")
        assert await connection.js.purge_stream(names.EVENTS, subject=names.events_subject(ONE))


@pytest.mark.parametrize("role", ["gateway", "both"])
async def test_gateway_reads_everything_and_writes_uploads_and_settings(cluster: InitializedCluster, role: str) -> None:
    async with asyncio.timeout(TIMEOUT), cluster.connect(role) as connection, cluster.connect("runner") as runner:
        await connected(connection)
        await connected(runner)
        await runner.js.publish(names.events_subject(ONE), b"1")
        await (await runner.js.object_store(names.TRANSCRIPTS)).put("a", b"xyz")
        reading = await connection.js.subscribe(names.events_subject(ONE), ordered_consumer=True)
        assert (await reading.next_msg(5)).data == b"1"
        assert (await (await connection.js.object_store(names.TRANSCRIPTS)).get("a")).data == b"xyz"
        for bucket in (names.NODES, names.OWNERS, names.SETTINGS):
            await (await connection.js.key_value(bucket)).put("key", b"1")
        uploads = await connection.js.object_store(names.UPLOADS)
        for _ in range(2):
            await uploads.put("picture", b"x" * 300_000)
        assert (await (await runner.js.object_store(names.UPLOADS)).get("picture")).data == b"x" * 300_000


async def test_gateway_with_sessions_sends_and_answers_requests(cluster: InitializedCluster) -> None:
    async with asyncio.timeout(TIMEOUT), cluster.connect("both") as one, cluster.connect("both") as other:
        await connected(one)
        await connected(other)
        await answer_requests(other, names.do_subject(ONE))
        assert (await one.nats.request(names.do_subject(ONE), b"1", timeout=5)).data == b"done 1"
        assert (await other.nats.request(names.do_subject(ONE), b"2", timeout=5)).data == b"done 2"


@pytest.mark.parametrize("role", ROLES)
async def test_every_role_may_read_the_cluster_status(cluster: InitializedCluster, role: str) -> None:
    async with asyncio.timeout(TIMEOUT), cluster.connect("viewer", key=role) as connection:
        await connected(connection)
        assert (await connection.js.account_info()).streams == len(ALL_STREAMS)
        for name in ALL_STREAMS:
            assert (await connection.js.stream_info(name)).config.name == name


# Permissions that each role lacks


async def test_runner_sends_no_commands_and_cannot_read_answers_to_others(cluster: InitializedCluster) -> None:
    async with (
        asyncio.timeout(TIMEOUT),
        cluster.connect("runner") as bad,
        cluster.connect("runner") as good,
        cluster.connect("gateway") as gateway,
    ):
        for connection in (bad, good, gateway):
            await connected(connection)
        received: list[bytes] = []

        async def note(message: Msg) -> None:
            received.append(message.data)

        for subject in (names.do_subject(ONE), names.node_subject("a")):
            await good.nats.subscribe(subject, cb=note)
        await good.nats.flush()
        for subject in (names.do_subject(ONE), names.node_subject("a"), names.follow_subject(ONE), names.ALL_NODES):
            await assert_denied(bad, bad.nats.request(subject, b"bad"))
        for subject in (">", "_INBOX.>", "_INBOX.gateway.>", "handrail.live.*", "handrail.>", "$SYS.>", "$KV.>"):
            assert await bad.nats.subscribe(subject, cb=note)
            await bad.nats.flush()
        await gateway.nats.publish(names.do_subject(ONE), b"good")
        await good.nats.publish(names.live_subject(ONE), b"live")
        await good.nats.publish(names.live_subject(ONE), b"live")
        await gateway.nats.flush()
        await good.nats.flush()
        await bad.nats.flush()
        assert received == [b"good"]


@pytest.mark.parametrize("role", ROLES)
async def test_no_role_deletes_streams_or_creates_other_streams(cluster: InitializedCluster, role: str) -> None:
    async with asyncio.timeout(TIMEOUT), cluster.connect(role) as connection:
        await connected(connection)
        for name in ALL_STREAMS[:3]:
            await assert_denied(connection, connection.js.delete_stream(name))
        await assert_denied(connection, connection.js.add_stream(name="mine", subjects=["mine"]))
        await assert_denied(connection, connection.js.delete_msg(names.EVENTS, 1))
        await assert_denied(connection, connection.nats.request("$JS.API.META.LEADER.STEPDOWN", b""))
        await assert_denied(connection, connection.nats.request(f"$JS.API.STREAM.SNAPSHOT.{names.EVENTS}", b"{}"))


@pytest.mark.parametrize("role", ["runner", "viewer"])
async def test_runner_and_viewer_cannot_change_streams(cluster: InitializedCluster, role: str) -> None:
    async with asyncio.timeout(TIMEOUT), cluster.connect("gateway") as gateway, cluster.connect(role) as connection:
        await connected(gateway)
        await connected(connection)
        config = (await gateway.js.stream_info(names.EVENTS)).config
        config.max_age = 1.0
        await assert_denied(connection, connection.js.update_stream(config))


async def test_gateway_without_sessions_writes_no_events_and_receives_no_commands(cluster: InitializedCluster) -> None:
    async with asyncio.timeout(TIMEOUT), cluster.connect("gateway") as gateway, cluster.connect("both") as other:
        await connected(gateway)
        await connected(other)
        for subject in (names.events_subject(ONE), names.receipt_subject("c"), f"$O.{names.TRANSCRIPTS}.M.a"):
            await assert_denied(gateway, gateway.js.publish(subject, b"bad"))
        await assert_denied(gateway, gateway.js.purge_stream(names.EVENTS))
        await answer_requests(gateway, names.do_subject(ONE))
        with pytest.raises(errors.NoRespondersError):
            await other.nats.request(names.do_subject(ONE), b"1", timeout=5)
        assert (await other.js.stream_info(names.EVENTS)).state.messages == 0


async def test_viewer_cannot_read_session_data(cluster: InitializedCluster) -> None:
    async with asyncio.timeout(TIMEOUT), cluster.connect("viewer") as viewer, cluster.connect("runner") as runner:
        await connected(viewer)
        await connected(runner)
        await runner.js.publish(names.events_subject(ONE), b"secret")
        await (await runner.js.key_value(names.SESSIONS)).put(ONE, b"secret")
        await assert_denied(viewer, viewer.js.get_last_msg(names.EVENTS, names.events_subject(ONE)))
        await assert_denied(viewer, viewer.js.get_last_msg(names.EVENTS, names.events_subject(ONE), direct=True))
        await assert_denied(viewer, viewer.js.get_last_msg(f"KV_{names.SESSIONS}", f"$KV.{names.SESSIONS}.{ONE}"))
        await assert_denied(
            viewer, viewer.js.subscribe(names.events_subject(ONE), stream=names.EVENTS, ordered_consumer=True)
        )
        await assert_denied(viewer, viewer.js.publish(f"$KV.{names.NODES}.a", b"bad"))
        await assert_denied(viewer, viewer.nats.request(names.do_subject(ONE), b""))


async def test_login_without_a_key_is_refused(cluster: InitializedCluster, tmp_path: Path) -> None:
    async with (
        asyncio.timeout(TIMEOUT),
        NatsConnection(parse_address(cluster.url), "anonymous", role="both") as connection,
    ):
        with pytest.raises(ClusterRefused, match="rejected the credentials"):
            await connection.until_up(TIMEOUT)


# Three servers, TLS


async def test_three_servers_with_tls_keep_three_replicas(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(TIMEOUT),
        initialized_cluster(tmp_path / "c", count=3, tls=True) as cluster,
        cluster.connect("both") as connection,
    ):
        await connected(connection)
        assert connection.servers == 3
        await _create_streams(connection)
        info = await connection.js.stream_info(names.EVENTS)
        assert info.cluster is not None
        assert len(info.cluster.replicas or []) == 2


async def _create_streams(connection: NatsConnection) -> None:
    """Create the streams; the servers have to form a cluster first."""
    while True:
        try:
            return await lay_out(connection.js, 3)
        except (ClusterAway, ClusterRefused, APIError):
            await asyncio.sleep(0.1)


# A key per machine


async def test_machine_is_let_in_and_shut_out_without_disturbing_others(cluster: InitializedCluster) -> None:
    key = add_machine(cluster.folder, "box4", "runner")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    async with asyncio.timeout(TIMEOUT), cluster.connect("runner") as other, cluster.connect("gateway") as gateway:
        await connected(other)
        await connected(gateway)
        lost: list[str] = []
        other.on_down.append(lambda: lost.append("other"))
        cluster.reload()
        await until_let_in(cluster, "box4")
        async with cluster.connect("runner", key="box4") as link:
            await connected(link)
            await answer_requests(link, names.do_subject(ONE))
            assert (await gateway.nats.request(names.do_subject(ONE), b"1", timeout=5)).data == b"done 1"
            down = asyncio.Event()
            link.on_down.append(down.set)
            remove_machine(cluster.folder, "box4")
            cluster.reload()
            await down.wait()
        await other.js.publish(names.events_subject(ONE), b"1")
        assert lost == []
    assert not key.exists()


async def until_let_in(cluster: InitializedCluster, name: str) -> None:
    """Wait until the server has read the key of a machine."""
    while True:
        try:
            async with cluster.connect("runner", key=name) as link:
                return await link.until_up(TIMEOUT)
        except ClusterRefused:
            await asyncio.sleep(0.05)


def test_machines_of_a_folder_are_listed_by_public_key(tmp_path: Path) -> None:
    folder, machines = tmp_path / "c", {"box1": "both", "box2": "both", "box3": "runner"}
    write_cluster_files(folder, free_servers(3), machines=machines, store="store", disk="1GB", tls=False)
    assert sorted(path.name for path in (folder / "keys").iterdir()) == ["box1.nk", "box2.nk", "box3.nk", "viewer.nk"]
    texts = {path.read_text() for path in folder.glob("*/accounts.conf")}
    assert len(texts) == 1
    assert texts.pop().count("nkey: U") == 4
    (folder / "keys" / "box1.nk").unlink()  # copied to its machine
    write_accounts(folder)
    assert (folder / "nats-2" / "accounts.conf").read_text().count("nkey: U") == 4
    remove_machine(folder, "box1")
    assert (folder / "nats-2" / "accounts.conf").read_text().count("nkey: U") == 3
    for work, text in (
        (lambda: add_machine(folder, "box2", "runner"), "has a key already"),
        (lambda: add_machine(folder, "../x", "runner"), "invalid machine name"),
        (lambda: add_machine(folder, "box9", "root"), "unknown role 'root'"),
        (lambda: remove_machine(folder, "box1"), "no machine 'box1'; the machines are viewer, box2, box3"),
        (lambda: add_machine(tmp_path, "box9", "runner"), "has no machines.json"),
    ):
        with pytest.raises(ClusterRefused, match=text):
            work()
    (folder / "machines.json").write_text("{")
    with pytest.raises(ClusterRefused, match="cannot be read"):
        write_accounts(folder)


# Files


def test_configuration_is_valid_and_contains_no_secrets(tmp_path: Path) -> None:
    servers = free_servers(3)
    folder = tmp_path / "cluster"
    write_cluster_files(folder, servers, store="store", disk="1GB", tls=True)
    for one in servers:
        command = [str(find_nats_server()), "-c", "nats.conf", "-t"]
        tried = subprocess.run(command, cwd=folder / one.name, capture_output=True, text=True, check=False)
        assert tried.returncode == 0, tried.stderr
        text = (folder / one.name / "nats.conf").read_text() + (folder / one.name / "accounts.conf").read_text()
        assert "password" not in text
        for key in (folder / "keys").iterdir():
            assert key.read_text().strip() not in text
    for path in folder.rglob("*"):
        secret = path.suffix == ".nk" or path.name in ("routes.conf", "key.pem", "ca-key.pem")
        assert not secret or stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_existing_files_and_duplicate_servers_are_rejected(tmp_path: Path) -> None:
    servers = [parse_server(1, "127.0.0.1:4222"), parse_server(2, "127.0.0.1:4222")]
    with pytest.raises(ClusterRefused, match="same host and port"):
        write_cluster_files(tmp_path / "a", servers, store="store", disk="1GB", tls=False)
    write_cluster_files(tmp_path / "b", servers[:1], store="store", disk="1GB", tls=False)
    before = sorted((tmp_path / "b").rglob("*"))
    with pytest.raises(ClusterRefused, match="will not be overwritten"):
        write_cluster_files(tmp_path / "b", servers[:1], store="store", disk="1GB", tls=False)
    assert sorted((tmp_path / "b").rglob("*")) == before


@pytest.mark.parametrize(
    "text", ["", "a b", "box:0", "box:99999", "box:65000", 'box"', "nats://box", "a\nb", "box:1:2"]
)
def test_invalid_server_is_rejected(text: str) -> None:
    with pytest.raises(ClusterRefused, match="invalid server"):
        parse_server(1, text)
