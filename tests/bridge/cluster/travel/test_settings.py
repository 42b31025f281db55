"""What new sessions start with is chosen on one machine and holds on all."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from handrail.bridge.cluster.link.names import SETTINGS
from handrail.bridge.cluster.travel import settings
from handrail.bridge.cluster.travel.settings import SharedSettings
from handrail.bridge.commands.defaults import TABLES, Chosen, Defaults
from handrail.bridge.errors import ClusterAway
from handrail.bridge.store.database import Database
from tests.bridge.cluster.real_store import Store, real_store
from tests.bridge.stage import Clock

OPUS, HAIKU = Chosen(model="opus", mode="plan"), Chosen(model="haiku")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is there answers, however busy the machine is."""
    monkeypatch.setattr(settings, "PATIENCE", 30.0)


@asynccontextmanager
async def machine(folder: Path, name: str, store: Store, clock: Clock) -> AsyncGenerator[Defaults]:
    database = Database(folder / f"{name}.db", TABLES)
    yield Defaults(database, SharedSettings(store.js, clock))
    await database.close()


async def test_what_is_chosen_on_one_machine_holds_on_another_within_seconds(tmp_path: Path):
    clock = Clock()
    async with (
        real_store(tmp_path) as store,
        machine(tmp_path, "one", store, clock) as one,
        machine(tmp_path, "two", store, clock) as two,
    ):
        assert await two.get() == Chosen()
        await one.put(OPUS)
        clock.now += settings.FRESH
        assert (await one.get(), await two.get()) == (OPUS, OPUS)
        await two.put(HAIKU)
        assert await two.get() == HAIKU, "whoever chose it sees it at once"
        clock.now += settings.FRESH
        assert await one.get() == HAIKU


async def test_without_nats_the_last_that_is_known_holds_and_nothing_else_can_be_chosen(tmp_path: Path):
    clock = Clock()
    async with (
        real_store(tmp_path) as store,
        machine(tmp_path, "one", store, clock) as one,
        machine(tmp_path, "two", store, clock) as two,
    ):
        await one.put(OPUS)
        assert await two.get() == OPUS
        await store.kill()
        clock.now += settings.FRESH
        assert await two.get() == OPUS
        with pytest.raises(ClusterAway, match="all machines"):
            await two.put(HAIKU)
        assert await two.get() == OPUS
        await store.start()
        clock.now += settings.AWAY
        while True:  # the connection comes back in its own time
            try:
                await two.put(HAIKU)
                break
            except ClusterAway:
                continue
        clock.now += settings.FRESH
        assert await one.get() == HAIKU


async def test_what_a_machine_chose_before_it_had_others_holds_until_somebody_chooses_for_all(tmp_path: Path):
    async with real_store(tmp_path) as store, machine(tmp_path, "one", store, Clock()) as one:
        alone, one.shared = one.shared, None
        await one.put(OPUS)
        one.shared = alone
        assert await one.get() == OPUS


async def test_no_machine_chooses_for_others_what_nobody_may_or_what_they_do_not_know(tmp_path: Path):
    clock = Clock()
    async with real_store(tmp_path) as store, machine(tmp_path, "one", store, clock) as one:
        await one.put(OPUS)
        for value in (b'{"tomorrow": 1}', b"\xff", b"", b"[]"):
            await store.js.publish(f"$KV.{SETTINGS}.defaults", value)
            clock.now += settings.FRESH
            assert await one.get() == OPUS
        await store.js.publish(f"$KV.{SETTINGS}.defaults", b'{"mode": "bypassPermissions", "model": "opus"}')
        clock.now += settings.FRESH
        assert await one.get() == Chosen(model="opus")


async def test_where_the_bucket_is_gone_what_is_known_here_holds(tmp_path: Path):
    clock = Clock()
    async with real_store(tmp_path) as store, machine(tmp_path, "one", store, clock) as one:
        await one.put(OPUS)
        await store.js.delete_stream(f"KV_{SETTINGS}")
        clock.now += settings.FRESH
        assert await one.get() == OPUS
        with pytest.raises(ClusterAway):
            await one.put(HAIKU)


async def test_a_setting_has_a_plain_name(tmp_path: Path):
    async with real_store(tmp_path) as store:
        with pytest.raises(ValueError, match="name of a setting"):
            await SharedSettings(store.js).get("a.>")
