"""Compare-and-swap on bucket entries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from handrail.bridge.cluster.leases.entries import Conflict, Entries, Entry
from handrail.bridge.cluster.nats.names import OWNERS
from handrail.bridge.errors import ClusterAway
from handrail.testing import NatsServer
from tests.bridge.cluster.leased_machine import connect, disconnect, server_with_streams


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[NatsServer]:
    async with server_with_streams(tmp_path / "nats") as server:
        yield server


@pytest.fixture
async def entries(server: NatsServer) -> AsyncGenerator[Entries]:
    connection = await connect(server.url)
    yield Entries(connection.jetstream(), OWNERS, timeout=3.0)
    await disconnect(connection)


async def test_written_entry_is_read(entries: Entries):
    assert await entries.read("a") == Entry()
    first = await entries.write("a", b"1", after=0)
    assert await entries.read("a") == Entry(first, b"1")
    second = await entries.write("a", b"", after=first)
    assert await entries.read("a") == Entry(second, b"")
    assert await entries.all() == {"a": Entry(second, b"")}


async def test_key_may_be_any_text(entries: Entries):
    named = ["a.b", "*", ">", "", "ä b", "proof.x"]
    for name in named:
        await entries.write(name, name.encode(), after=0)
    assert {name: entry.value for name, entry in (await entries.all()).items()} == {
        name: name.encode() for name in named
    }


async def test_one_of_many_concurrent_writers_wins(entries: Entries):
    async def wins(n: int) -> bool:
        try:
            await entries.write("a", b"%d" % n, after=0)
        except Conflict:
            return False
        return True

    assert sum(await asyncio.gather(*map(wins, range(20)))) == 1


async def test_removed_entry_can_be_written_again(entries: Entries):
    first = await entries.write("a", b"1", after=0)
    with pytest.raises(Conflict):
        await entries.remove("a", after=first + 1)
    await entries.remove("a", after=first)
    removed = await entries.read("a")
    assert removed.value is None
    assert await entries.all() == {}
    with pytest.raises(Conflict):
        await entries.write("a", b"2", after=0)
    assert (await entries.read("a")).revision == removed.revision
    await entries.write("a", b"2", after=removed.revision)


async def test_only_the_newest_revision_is_confirmed(entries: Entries):
    first = await entries.write("a", b"1", after=0)
    assert await entries.confirm("a", first, by="x")
    second = await entries.write("a", b"2", after=first)
    assert not await entries.confirm("a", first, by="x")
    assert await entries.confirm("a", second, by="x")
    assert await entries.confirm("missing", 0, by="x")
    assert not await entries.confirm("missing", second, by="x")
    assert (await entries.read("a")).revision == second


async def test_all_operations_report_an_unreachable_server(server: NatsServer):
    connection = await connect(server.url)
    entries = Entries(connection.jetstream(), OWNERS, timeout=0.2)
    await server.kill()
    for asked in (
        entries.read("a"),
        entries.write("a", b"", after=0),
        entries.remove("a", after=1),
        entries.confirm("a", 1, by="x"),
    ):
        with pytest.raises(ClusterAway, match="no response from NATS about bucket handrail-owners: "):
            await asked
    await disconnect(connection)


async def test_missing_bucket_is_reported(server: NatsServer):
    connection = await connect(server.url)
    with pytest.raises(ClusterAway, match="bucket nothing is unavailable: stream not found"):
        await Entries(connection.jetstream(), "nothing").read("a")
    await disconnect(connection)
