"""The event log of a clustered machine: acknowledgement, reading, and receipts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import pytest

from handrail.bridge.cluster.store.event_log import ClusterLog
from handrail.bridge.errors import ClusterAway, CommandRefused
from handrail.bridge.store.base import Bounds, EventLog, Hit, Receipt
from handrail.testing import EVENT_LOG_CHECKS, EventLogCheck, NatsServer, run_port_check
from tests.bridge.cluster.machine_store import MachineStore, connected, connected_store, new, open_store, said
from tests.bridge.shared_nats import shared_server


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[NatsServer]:
    async with NatsServer(tmp_path / "nats") as server:
        yield server


_epochs = count(1000)
"""Tests share the sessions of one server; each uses an epoch above all earlier ones."""


class Claiming(ClusterLog):
    """Adopts every session it writes to."""

    machine: MachineStore
    epoch: int

    async def append(self, session, events, receipt=None, *, time=None):
        if events and session and not self.machine.held.holds(session):
            await self.machine.adopt(session, self.epoch)
        return await super().append(session, events, receipt, time=time)


class Place:
    """A log that cannot be reopened."""

    def __init__(self, log: EventLog) -> None:
        self.log = log

    async def reopen(self) -> EventLog:
        raise NotImplementedError


@pytest.mark.parametrize("check", EVENT_LOG_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("moves", [False, True], ids=["stays", "moves"])
async def test_cluster_log_passes_the_event_log_suite(moves: bool, check: EventLogCheck, tmp_path: Path):
    @asynccontextmanager
    async def opens() -> AsyncGenerator[Place]:
        async with connected(await shared_server()) as js:
            await js.purge_stream("handrail-events")
            await js.purge_stream("handrail-receipts")
            async with open_store(tmp_path, js, moves=moves) as machine:
                log = Claiming(machine.local, machine.remote, machine.outbox, machine.held, moves=moves)
                log.machine, log.epoch = machine, next(_epochs)
                yield Place(log)

    await run_port_check(check, opens)


async def test_moving_session_is_acknowledged_and_readable_only_after_nats_has_it(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server, moves=True) as machine:
        await machine.adopt("s", 1)
        await machine.log.append("s", new("a"))
        assert said(await machine.remote.read("s", 0)) == ["a"]
        await server.kill()
        appending = asyncio.create_task(machine.log.append("s", new("b"), Receipt("c", b"1")))
        while (await machine.local.bounds("s")).last < 2:
            pass
        assert said(await machine.log.read("s", 0)) == ["a"]
        assert said(await machine.log.read_back("s", 99)) == ["a"]
        assert await machine.log.bounds("s") == Bounds(1, 1)
        assert not appending.done()
        asking = asyncio.create_task(machine.log.receipt("c"))
        await server.start()
        assert said(await appending) == ["b"]
        assert await asking == b"1"
        assert said(await machine.log.read("s", 0)) == ["a", "b"]


async def test_staying_session_continues_without_nats(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.adopt("s", 1)
        await server.kill()
        await machine.log.append("s", new("a"), Receipt("c", b"1"))
        assert said(await machine.log.read("s", 0)) == ["a"]
        assert await machine.log.receipt("c") == b"1"


async def test_given_up_event_has_an_unknown_outcome(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server, moves=True) as machine:
        await machine.adopt("s", 1)
        await server.kill()
        appending = asyncio.create_task(machine.log.append("s", new("a"), Receipt("c", b"1")))
        while (await machine.local.bounds("s")).last < 1:
            pass
        machine.outbox.give_up_all()
        with pytest.raises(CommandRefused, match="it is unknown whether") as raised:
            await appending
        assert raised.value.code == "unreachable"
        with pytest.raises(CommandRefused):  # the outcome of that command is unknown
            await machine.log.receipt("c")
        await server.start()
        await machine.adopt("s", 2)
        assert await machine.log.receipt("c") == b"1"
        assert said(await machine.log.read("s", 0)) == ["a"]


async def test_fenced_machine_is_refused_and_its_receipt_is_void(tmp_path: Path, server: NatsServer):
    async with (
        connected_store(tmp_path / "a", server, moves=True) as old,
        connected_store(tmp_path / "b", server, moves=True) as taking,
    ):
        await old.adopt("s", 1)
        await old.log.append("s", new("a"), Receipt("c1", b"1"))
        await taking.adopt("s", 2)
        with pytest.raises(CommandRefused, match="another owner") as raised:
            await old.log.append("s", new("lost"), Receipt("c2", b"2"))
        assert raised.value.code == "elsewhere"
        assert [await old.log.receipt(command) for command in ("c1", "c2", "c3")] == [b"1", None, None]
        with pytest.raises(CommandRefused, match="does not run on this machine"):
            await old.log.append("s", new("x"))
        await taking.log.append("s", new("b"))
        assert said(await old.log.read("s", 0)) == ["a", "b"]
        assert said(await old.log.read_back("s", 99, limit=1)) == ["b"]
        assert await old.log.bounds("s") == Bounds(1, 2)
        assert await old.log.size("s") == await taking.log.size("s") == 6


async def test_session_of_another_machine_is_unreadable_without_nats(tmp_path: Path, server: NatsServer):
    async with (
        connected_store(tmp_path / "a", server, answer_within=1.0) as a,
        connected_store(tmp_path / "b", server, answer_within=1.0) as b,
    ):
        await a.adopt("s", 1)
        await a.log.append("s", new("a"))
        assert await a.wait_until_published("s")
        assert await a.outbox.release("s")
        a.held.sessions.clear()
        await b.adopt("s", 2)
        await b.log.append("s", new("b"))
        assert await b.wait_until_published("s")
        assert said(await a.log.read("s", 0)) == ["a", "b"]
        await server.kill()
        with pytest.raises(ClusterAway):  # the local copy is outdated
            await a.log.read("s", 0)


async def test_unclaimed_session_is_read_from_the_store(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.local.append("s", new("a"))
    async with connected_store(tmp_path / "a", server) as machine:
        assert said(await machine.log.read("s", 0)) == ["a"]
        assert await machine.log.bounds("s") == Bounds(1, 1)


async def test_only_the_owner_deletes_events_everywhere(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as a, connected_store(tmp_path / "b", server) as b:
        await a.adopt("s", 1)
        await a.log.append("s", new("a", "b"))
        assert await a.wait_until_published("s")
        await b.log.forget("s")
        assert said(await b.log.read("s", 0)) == ["a", "b"]
        await a.log.forget("s", through=1)
        await a.log.append("s", new("c"))
        assert await a.wait_until_published("s")
        assert said(await b.log.read("s", 0)) == ["b", "c"]


async def test_search_asks_all_machines(tmp_path: Path, server: NatsServer):
    asked: list[tuple[str, int, str | None]] = []

    async def everywhere(words: str, limit: int, session: str | None) -> list[Hit]:
        asked.append((words, limit, session))
        return [Hit("there", 1, 1, words)]

    async with connected_store(tmp_path / "a", server) as machine:
        log = ClusterLog(machine.local, machine.remote, machine.outbox, machine.held, moves=False, search=everywhere)
        assert [hit.session for hit in await log.search("word", limit=3)] == ["there"]
        assert asked == [("word", 3, None)]


async def test_session_is_released_only_after_nats_has_all_of_it(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.adopt("s", 1)
        await server.kill()
        await machine.log.append("s", new("a"))
        assert not await machine.outbox.release("s")
    await server.start()
    async with connected_store(tmp_path / "a", server) as machine:
        assert machine.outbox.epoch_before("s") == 1
        assert await machine.outbox.published("s", 1)
        assert await machine.outbox.release("s")
        assert machine.outbox.epoch_before("s") is None
    async with connected_store(tmp_path / "a", server) as machine:
        assert machine.outbox.epoch_before("s") is None
