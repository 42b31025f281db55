"""Shared values of two gateways: changes arrive by the watch, and the copy outlives NATS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from handrail.bridge.cluster.nats import names
from handrail.bridge.cluster.store.bucket_values import BucketValues
from handrail.bridge.cluster.store.layout import lay_out
from handrail.bridge.errors import ClusterAway
from handrail.bridge.store.database import Database
from handrail.bridge.store.shared_values import TABLES, SharedValues, SqliteValues
from tests.bridge.cluster.jetstream_server import TIMEOUT, jetstream_server
from tests.bridge.cluster.remote_stage import connected as reconnecting
from tests.bridge.shared_nats import connected
from tests.bridge.stores import gateway_values

STREAM = names.bucket_stream(names.ACCESS)


async def until(values: SharedValues, true: Callable[[], Any]) -> None:
    changed = asyncio.Event()
    values.on_change.append(lambda *_: changed.set())
    while not true():
        changed.clear()
        await changed.wait()


@asynccontextmanager
async def nats() -> AsyncGenerator[Client]:
    async with asyncio.timeout(TIMEOUT), connected(empty=[STREAM]) as connection:
        yield connection


async def test_changes_of_one_gateway_arrive_at_the_other(tmp_path: Path):
    async with nats() as js, gateway_values(tmp_path, js, "a") as a, gateway_values(tmp_path, js, "b") as b:
        await a.create("device.1", b"1")
        await until(b, lambda: b.get("device.1") == b"1")
        await b.update("device.1", lambda value: value + b"2")
        await until(a, lambda: a.get("device.1") == b"12")
        await asyncio.gather(*(one.update("device.1", lambda value: value + b"x") for one in (a, b) * 5))
        await until(b, lambda: b.get("device.1") == b"12" + 10 * b"x")
        assert not await b.create("device.1", b"3")
        assert await a.take("device.1") is not None
        await until(b, lambda: b.get("device.1") is None)
        assert await b.create("device.1", b"4")
        await until(a, lambda: a.get("device.1") == b"4")


async def test_value_is_created_or_taken_by_one_gateway(tmp_path: Path):
    async with nats() as js, gateway_values(tmp_path, js, "a") as a, gateway_values(tmp_path, js, "b") as b:
        for n in range(20):
            created = await asyncio.gather(*(one.create(f"k{n}", one_is) for one, one_is in ((a, b"a"), (b, b"b"))))
            assert sum(created) == 1
            winner = b"a" if created[0] else b"b"
            assert [one.get(f"k{n}") for one in (a, b)] == [winner, winner]  # the loser knows it without the watch
            assert sorted(filter(None, await asyncio.gather(a.take(f"k{n}"), b.take(f"k{n}")))) == [winner]


async def test_copy_is_read_after_a_restart_and_brought_up_to_date(tmp_path: Path):
    async with nats() as js:
        async with gateway_values(tmp_path, js, "a") as a:
            for key in ("changed", "deleted", "kept"):
                await a.create(key, b"1")
        async with gateway_values(tmp_path, js, "b") as b:
            await b.update("changed", lambda _: b"2")
            await b.take("deleted")
        database = Database(tmp_path / "a.db", TABLES)
        local = SqliteValues(database)
        await local.open()
        assert local.below("") == {"changed": b"1", "deleted": b"1", "kept": b"1"}
        again = BucketValues(js.jetstream(), local, lambda: True)
        changes: dict[str, bytes | None] = {}
        again.on_change.append(changes.__setitem__)
        # A change before the watch has begun is based on what NATS has.
        assert await again.update("changed", lambda value: value + b"3") == b"23"
        await again.open()
        assert again.below("") == {"changed": b"23", "kept": b"1"}
        assert changes == {"changed": b"23", "deleted": None}
        await again.close()
        await database.close()


async def test_value_whose_marker_has_expired_is_deleted_from_the_copy(tmp_path: Path):
    async with nats() as connection:
        js = connection.jetstream()
        async with gateway_values(tmp_path, connection, "a") as a:
            await a.create("device.1", b"1")
        await js.purge_stream(STREAM)
        async with gateway_values(tmp_path, connection, "a") as a:
            assert a.below("") == {}


async def test_values_from_before_the_cluster_are_published_once(tmp_path: Path):
    async with nats() as connection:
        for name in ("a", "b"):
            database = Database(tmp_path / f"{name}.db", TABLES)
            local = SqliteValues(database)
            await local.create(f"device.{name}", b"1")
            await local.create("push-key", name.encode())
            await local.create("link.1", b"1", seconds=600)
            await database.close()
        async with gateway_values(tmp_path, connection, "a") as a, gateway_values(tmp_path, connection, "b") as b:
            await until(a, lambda: a.get("device.b"))
            expected = {"device.a": b"1", "device.b": b"1", "push-key": b"a", "link.1": b"1"}
            assert (a.below(""), b.below("")) == (expected, expected)
            await a.take("device.a")
        async with gateway_values(tmp_path, connection, "a") as a:
            assert "device.a" not in a.below("")


async def test_changes_are_refused_without_nats_and_the_values_stay(tmp_path: Path):
    async with (
        jetstream_server(tmp_path) as on,
        reconnecting(on.server.url) as connection,
        gateway_values(tmp_path, connection, "a") as values,
    ):
        await values.create("a", b"1")
        await on.kill()
        for work in (values.create("b", b"1"), values.update("a", lambda _: b"2"), values.take("a")):
            with pytest.raises(ClusterAway):
                await work
        assert values.below("") == {"a": b"1"}
        await on.start()
        while True:
            try:
                await values.update("a", lambda _: b"3")
                break
            except ClusterAway:
                await asyncio.sleep(0.05)
        assert values.get("a") == b"3"


async def test_new_bucket_replaces_the_values(tmp_path: Path):
    """Revocations were lost with the old one, so every device has to log in again."""
    async with jetstream_server(tmp_path) as on, gateway_values(tmp_path, on.connection, "a") as values:
        for n in range(3):
            await values.create(f"device.{n}", b"1")
        await on.js.delete_stream(STREAM)
        await lay_out(on.js, 1)
        await until(values, lambda: values.below("") == {})
        await values.create("device.new", b"1")
        assert values.below("") == {"device.new": b"1"}


async def test_failing_handler_does_not_stop_others(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    def fail(*_: object) -> None:
        raise RuntimeError("broken")

    async with nats() as js, gateway_values(tmp_path, js, "a") as a:
        a.on_change.insert(0, fail)
        seen: list[str] = []
        a.on_change.append(lambda key, _: seen.append(key))
        await a.create("a", b"1")
        assert seen == ["a"]
        assert "a handler of shared values failed (a)" in caplog.text
