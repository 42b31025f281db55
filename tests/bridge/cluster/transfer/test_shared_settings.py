"""Default options of new sessions, set on one machine and applied on all."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from handrail.bridge.cluster.nats.names import SETTINGS
from handrail.bridge.cluster.transfer import shared_settings
from handrail.bridge.cluster.transfer.shared_settings import SharedSettings
from handrail.bridge.commands.defaults import TABLES, Chosen, Defaults
from handrail.bridge.errors import ClusterAway
from handrail.bridge.store.database import Database
from tests.bridge.cluster.jetstream_server import JetStreamServer, jetstream_server
from tests.bridge.stage import Clock

OPUS, HAIKU = Chosen(model="opus", mode="plan"), Chosen(model="haiku")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow more time for answers on a busy machine."""
    monkeypatch.setattr(shared_settings, "ANSWER_SECONDS", 30.0)


@asynccontextmanager
async def machine(folder: Path, name: str, store: JetStreamServer, clock: Clock) -> AsyncGenerator[Defaults]:
    database = Database(folder / f"{name}.db", TABLES)
    yield Defaults(database, SharedSettings(store.js, clock))
    await database.close()


async def test_setting_reaches_other_machines_within_seconds(tmp_path: Path):
    clock = Clock()
    async with (
        jetstream_server(tmp_path) as store,
        machine(tmp_path, "one", store, clock) as one,
        machine(tmp_path, "two", store, clock) as two,
    ):
        assert await two.get() == Chosen()
        await one.put(OPUS)
        clock.now += shared_settings.CACHE_SECONDS
        assert (await one.get(), await two.get()) == (OPUS, OPUS)
        await two.put(HAIKU)
        assert await two.get() == HAIKU, "the machine that set it sees it at once"
        clock.now += shared_settings.CACHE_SECONDS
        assert await one.get() == HAIKU


async def test_without_nats_the_last_value_applies_and_cannot_be_changed(tmp_path: Path):
    clock = Clock()
    async with (
        jetstream_server(tmp_path) as store,
        machine(tmp_path, "one", store, clock) as one,
        machine(tmp_path, "two", store, clock) as two,
    ):
        await one.put(OPUS)
        assert await two.get() == OPUS
        await store.kill()
        clock.now += shared_settings.CACHE_SECONDS
        assert await two.get() == OPUS
        with pytest.raises(ClusterAway, match="all machines"):
            await two.put(HAIKU)
        assert await two.get() == OPUS
        await store.start()
        clock.now += shared_settings.RETRY_SECONDS
        while True:  # the client reconnects with a delay
            try:
                await two.put(HAIKU)
                break
            except ClusterAway:
                continue
        clock.now += shared_settings.CACHE_SECONDS
        assert await one.get() == HAIKU


async def test_local_setting_applies_until_a_shared_one_is_set(tmp_path: Path):
    async with jetstream_server(tmp_path) as store, machine(tmp_path, "one", store, Clock()) as one:
        alone, one.shared = one.shared, None
        await one.put(OPUS)
        one.shared = alone
        assert await one.get() == OPUS


async def test_invalid_shared_settings_are_ignored(tmp_path: Path):
    clock = Clock()
    async with jetstream_server(tmp_path) as store, machine(tmp_path, "one", store, clock) as one:
        await one.put(OPUS)
        for value in (b'{"tomorrow": 1}', b"\xff", b"", b"[]"):
            await store.js.publish(f"$KV.{SETTINGS}.defaults", value)
            clock.now += shared_settings.CACHE_SECONDS
            assert await one.get() == OPUS
        await store.js.publish(f"$KV.{SETTINGS}.defaults", b'{"mode": "bypassPermissions", "model": "opus"}')
        clock.now += shared_settings.CACHE_SECONDS
        assert await one.get() == Chosen(model="opus")


async def test_last_value_applies_if_the_bucket_is_missing(tmp_path: Path):
    clock = Clock()
    async with jetstream_server(tmp_path) as store, machine(tmp_path, "one", store, clock) as one:
        await one.put(OPUS)
        await store.js.delete_stream(f"KV_{SETTINGS}")
        clock.now += shared_settings.CACHE_SECONDS
        assert await one.get() == OPUS
        with pytest.raises(ClusterAway):
            await one.put(HAIKU)


async def test_invalid_setting_name_is_rejected(tmp_path: Path):
    async with jetstream_server(tmp_path) as store:
        with pytest.raises(ValueError, match="invalid setting name"):
            await SharedSettings(store.js).get("a.>")
