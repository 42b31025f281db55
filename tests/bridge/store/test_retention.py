"""What is not kept for ever: sessions at rest that are too old or too much; never one that is in use."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from handrail.bridge.configuration import Configuration
from handrail.bridge.errors import CommandRefused
from handrail.bridge.server import Bridge
from handrail.bridge.session.cli import agent_path
from handrail.bridge.session.launch import Cli
from handrail.bridge.session.sessions import FORGOTTEN_AT_ONCE
from handrail.bridge.store.events_base import NewEvent, Receipt
from handrail.bridge.store.index_base import SessionRecord, State
from handrail.bridge.store.retention import DAY, Retention, too_old

NOW = 1_000 * DAY


def record(id: str, days: float, state: State = "hibernated") -> SessionRecord:
    changed = NOW - round(days * DAY)
    return SessionRecord(id=id, cwd="/", created=changed, changed=changed, state=state)


def test_those_at_rest_for_long_are_too_old_the_oldest_first():
    records = [record("a", 5), record("b", 31), record("c", 40, "failed"), record("d", 90, "running")]
    assert [one.id for one in too_old(records, 30, NOW)] == ["c", "b"]
    assert too_old(records, 0, NOW) == []


@pytest.fixture
async def bridge(tmp_path: Path) -> AsyncIterator[Bridge]:
    told = Configuration(cli=Cli(agent_path(), "agent"), data=tmp_path / "data", roots=(tmp_path,))
    async with Bridge(told) as bridge:
        yield bridge


async def put(bridge: Bridge, *records: SessionRecord, events: int = 3, size: int = 10) -> None:
    for one in records:
        await bridge.sessions.events.append(one.id, [NewEvent("changed", b'{"title":"%s"}' % (b"x" * size))] * events)
        await bridge.sessions.index.put(replace(one, settled=events))


def retention(bridge: Bridge, days: float = 0, bytes: int = 0) -> Retention:
    return Retention(bridge.sessions, bridge.database, (days, bytes), clock=lambda: NOW / 1000)


async def left(bridge: Bridge) -> set[str]:
    return {one.id for one in await bridge.sessions.index.list()}


async def test_an_old_session_goes_with_all_its_events(bridge: Bridge):
    await put(bridge, record("old", 40, "failed"), events=2 * FORGOTTEN_AT_ONCE + 5)
    await put(bridge, record("new", 1, "failed"))
    assert await retention(bridge, days=30).tidy() == ["old"]
    assert await left(bridge) == {"new"}
    assert (await bridge.sessions.events.read("old", 0), await bridge.sessions.events.size("old")) == ([], 0)


async def test_a_session_that_somebody_looks_at_stays(bridge: Bridge):
    await put(bridge, record("seen", 40, "failed"), record("unseen", 40, "failed"))
    follower = (await bridge.sessions.get("seen")).feed.follow()
    assert await retention(bridge, days=30).tidy() == ["unseen"]
    follower.close()


async def test_a_session_that_runs_stays(bridge: Bridge, tmp_path: Path):
    one = SessionRecord(id="6c9a1d7e-0000-4000-8000-000000000001", cwd=str(tmp_path), created=1, changed=1)
    host = await bridge.sessions.add(one)
    await host.start()
    assert await retention(bridge, days=1, bytes=1).tidy() == []
    await host.stop()


async def test_above_a_size_the_oldest_go_until_it_fits(bridge: Bridge):
    await put(bridge, *(record(f"s{days}", days, "failed") for days in (5, 4, 3, 2, 1)), events=40, size=5_000)
    assert await retention(bridge, bytes=800_000).tidy() == ["s5", "s4"]
    assert await left(bridge) == {"s3", "s2", "s1"}


async def test_old_receipts_and_pictures_go(bridge: Bridge):
    picture = await bridge.uploads.add(b"\x89PNG\r\n\x1a\n")
    await bridge.sessions.events.append("", [], Receipt("d/old", b"{}"), time=NOW - 31 * DAY)
    await bridge.sessions.events.append("", [], Receipt("d/new", b"{}"), time=NOW - 29 * DAY)
    await retention(bridge).tidy()
    assert await bridge.uploads.get(picture), "it is of today"
    await bridge.database.execute("UPDATE upload SET time = ?", (NOW - DAY - 1,))
    await retention(bridge).tidy()
    with pytest.raises(CommandRefused, match="kept for a day"):
        await bridge.uploads.get(picture)
    assert await bridge.sessions.events.receipt("d/old") is None
    assert await bridge.sessions.events.receipt("d/new") == b"{}"
