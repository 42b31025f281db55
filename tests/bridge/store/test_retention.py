"""Retention: old sessions at rest are deleted, sessions in use never."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from handrail.bridge.configuration import Configuration
from handrail.bridge.errors import CommandRefused
from handrail.bridge.server import Bridge
from handrail.bridge.session.sessions import DELETED_AT_ONCE
from handrail.bridge.store.base import NewEvent, Receipt, SessionRecord, State
from handrail.bridge.store.retention import DAY, Retention, too_old
from handrail.model_access.choice import CliChoice, agent_path

NOW = 1_000 * DAY


def record(id: str, days: float, state: State = "hibernated") -> SessionRecord:
    changed = NOW - round(days * DAY)
    return SessionRecord(id=id, cwd="/", created=changed, changed=changed, state=state)


def test_only_sessions_at_rest_are_too_old():
    records = [record("a", 5), record("b", 31), record("c", 40, "failed"), record("d", 90, "running")]
    assert [record.id for record in too_old(records, 30, NOW)] == ["c", "b"]
    assert too_old(records, 0, NOW) == []


@pytest.fixture
async def bridge(tmp_path: Path) -> AsyncIterator[Bridge]:
    configuration = Configuration(cli=CliChoice.fixed(agent_path()), data=tmp_path / "data", roots=(tmp_path,))
    async with Bridge(configuration) as bridge:
        yield bridge


async def put(bridge: Bridge, *records: SessionRecord, events: int = 3, size: int = 10, text: str = "") -> None:
    for record in records:
        await bridge.sessions.events.append(
            record.id, [NewEvent("changed", b'{"title":"%s"}' % (b"x" * size), text)] * events
        )
        await bridge.sessions.index.put(replace(record, settled=events))


def retention(bridge: Bridge, days: float = 0, bytes: int = 0) -> Retention:
    return Retention(bridge.sessions, bridge.database, (days, bytes), clock=lambda: NOW / 1000)


async def remaining(bridge: Bridge) -> set[str]:
    return {record.id for record in await bridge.sessions.index.list()}


async def test_old_session_is_deleted_with_its_events(bridge: Bridge):
    await put(bridge, record("old", 40, "failed"), events=2 * DELETED_AT_ONCE + 5)
    await put(bridge, record("new", 1, "failed"))
    assert await retention(bridge, days=30).tidy() == ["old"]
    assert await remaining(bridge) == {"new"}
    assert (await bridge.sessions.events.read("old", 0), await bridge.sessions.events.size("old")) == ([], 0)


async def test_followed_session_is_kept(bridge: Bridge):
    await put(bridge, record("followed", 40, "failed"), record("other", 40, "failed"))
    follower = (await bridge.sessions.get("followed")).feed.follow()
    assert await retention(bridge, days=30).tidy() == ["other"]
    follower.close()


async def test_running_session_is_kept(bridge: Bridge, tmp_path: Path):
    record = SessionRecord(id="6c9a1d7e-0000-4000-8000-000000000001", cwd=str(tmp_path), created=1, changed=1)
    host = await bridge.sessions.add(record)
    await host.start()
    assert await retention(bridge, days=1, bytes=1).tidy() == []
    await host.stop()


async def test_oldest_sessions_are_deleted_until_the_store_fits(bridge: Bridge):
    await put(bridge, *(record(f"s{days}", days, "failed") for days in (5, 4, 3, 2, 1)), events=40, size=5_000)
    assert await retention(bridge, bytes=800_000).tidy() == ["s5", "s4"]
    assert await remaining(bridge) == {"s3", "s2", "s1"}


async def test_words_that_wait_to_be_removed_from_the_index_do_not_count(bridge: Bridge):
    await put(
        bridge,
        *(record(f"s{days}", days, "failed") for days in (5, 4, 3, 2, 1)),
        events=40,
        size=5_000,
        text="x" * 5_000,
    )
    assert await retention(bridge, bytes=1_550_000).tidy() == ["s5", "s4"]


async def test_old_receipts_and_uploads_are_deleted(bridge: Bridge):
    image = await bridge.uploads.add(b"\x89PNG\r\n\x1a\n")
    await bridge.sessions.events.append("", [], Receipt("d/old", b"{}"), time=NOW - 31 * DAY)
    await bridge.sessions.events.append("", [], Receipt("d/new", b"{}"), time=NOW - 29 * DAY)
    await retention(bridge).tidy()
    assert await bridge.uploads.get(image), "it was uploaded today"
    await bridge.database.execute("UPDATE upload SET time = ?", (NOW - DAY - 1,))
    await retention(bridge).tidy()
    with pytest.raises(CommandRefused, match="deleted after a day"):
        await bridge.uploads.get(image)
    assert await bridge.sessions.events.receipt("d/old") is None
    assert await bridge.sessions.events.receipt("d/new") == b"{}"
