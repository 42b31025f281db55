"""Adoption: the store matches NATS afterwards, whichever machine wrote and wherever an attempt was interrupted."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from nats.js import JetStreamContext

from handrail.bridge.cluster.nats.names import EVENTS
from handrail.bridge.cluster.store.adoption import adopt
from handrail.bridge.cluster.store.outbox import Outbox
from handrail.bridge.cluster.store.session_stream import Batch, Newest, SessionStream
from handrail.bridge.errors import ClusterAway, Fenced
from handrail.bridge.store.base import Bounds, NewEvent, Receipt
from handrail.bridge.store.database import Database
from handrail.testing import NatsServer
from tests.bridge.cluster.machine_store import MachineStore, connected, connected_store, new, open_store, said

T = TypeVar("T")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[NatsServer]:
    async with NatsServer(tmp_path / "nats") as server:
        yield server


async def both(machine: MachineStore, session: str = "s") -> list[str]:
    """The words of a session, equal in the store and on NATS."""
    found = await machine.local.read(session, 0, limit=10**6, most_bytes=2**30)
    assert found == await machine.remote.read(session, 0, limit=10**6, most_bytes=2**30)
    assert await machine.local.bounds(session) == await machine.remote.bounds(session)
    return said(found)


async def test_new_session_needs_one_message(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as machine:
        before = (await machine.js.stream_info(EVENTS)).state.messages
        await machine.adopt("s", 1)
        assert (await machine.js.stream_info(EVENTS)).state.messages == before + 1
        newest = await machine.stream.newest("s")
        assert newest is not None
        assert newest.batch == Batch(epoch=1, first=1, start=1)
        assert machine.outbox.behind.events == 0


async def test_new_owner_gets_events_texts_and_receipts(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as a, connected_store(tmp_path / "b", server) as b:
        await a.adopt("s", 1)
        await a.outbox.append("s", new("apple"), Receipt("c1", b"1"))
        await a.outbox.append("s", new("pear", "plum"), Receipt("c2", b"2"))
        assert await a.wait_until_published("s")
        await b.adopt("s", 2)
        assert await both(b) == ["apple", "pear", "plum"]
        assert [await b.local.receipt(command) for command in ("c1", "c2", "c3")] == [b"1", b"2", None]
        assert [hit.seq for hit in await b.local.search("plu")] == [3]
        added = await b.outbox.append("s", new("fig"))
        assert added[0].seq == 4
        assert await b.wait_until_published("s")
        await a.adopt("s", 3)
        assert await both(a) == ["apple", "pear", "plum", "fig"]


async def test_session_alternates_between_two_machines(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as a, connected_store(tmp_path / "b", server) as b:
        words: list[str] = []
        for epoch in range(1, 8):
            machine = a if epoch % 2 else b
            await machine.adopt("s", epoch)
            words += [f"{epoch}-{n}" for n in range(5)]
            for word in words[-5:]:
                await machine.outbox.append("s", new(word))
            assert await machine.wait_until_published("s")
            assert await both(machine) == words


async def test_large_session_is_fetched_in_pages(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as a, connected_store(tmp_path / "b", server) as b:
        await a.adopt("s", 1)
        words = [f"{n}" for n in range(4500)]
        await a.outbox.append("s", new(*words))
        await a.outbox.append("s", [NewEvent("frame", b'"%s"' % (b"x" * 2**20)) for _ in range(4)])
        assert await a.wait_until_published("s")
        await b.adopt("s", 2)
        assert (await both(b))[:4500] == words
        assert (await b.local.bounds("s")).last == 4504


async def test_deleted_events_are_not_fetched_and_numbers_continue(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as a, connected_store(tmp_path / "b", server) as b:
        await a.adopt("s", 1)
        for word in "abcd":
            await a.outbox.append("s", new(word))
            assert await a.wait_until_published("s")
        await b.adopt("s", 2)
        await b.outbox.forget("s", 2)
        await b.outbox.append("s", new("e"))
        assert await b.wait_until_published("s")
        await a.adopt("s", 3)
        assert await both(a) == ["c", "d", "e"]
        assert await a.local.bounds("s") == Bounds(3, 5)
        await a.outbox.forget("s", None)
        added = await a.outbox.append("s", new("f"))
        assert await a.wait_until_published("s")
        assert added[0].seq == 6
        await b.adopt("s", 4)
        assert await both(b) == ["f"]


async def test_fully_deleted_session_keeps_its_next_number(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as a, connected_store(tmp_path / "b", server) as b:
        await a.adopt("s", 1)
        await a.outbox.append("s", new("a", "b"))
        assert await a.wait_until_published("s")
        await a.outbox.forget("s", None)
        await a.outbox.close()
        await b.adopt("s", 2)
        assert await b.local.bounds("s") == Bounds(3, 2)


async def test_unpublished_events_are_kept_without_another_writer(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.adopt("s", 1)
        await machine.outbox.append("s", new("a"))
        assert await machine.wait_until_published("s")
        await server.kill()
        await machine.outbox.append("s", new("b"), Receipt("c", b"1"))
        machine.outbox.give_up("s")
        await server.start()
        await machine.adopt("s", 2)
        assert await machine.wait_until_published("s")
        assert await both(machine) == ["a", "b"]
        assert await machine.remote.receipt("c") == b"1"


async def test_unpublished_events_of_a_fenced_owner_are_dropped(
    tmp_path: Path, server: NatsServer, caplog: pytest.LogCaptureFixture
):
    async with connected_store(tmp_path / "a", server) as old, connected_store(tmp_path / "b", server) as taking:
        await old.adopt("s", 1)
        await old.outbox.append("s", new("a"), Receipt("c1", b"1"))
        assert await old.wait_until_published("s")
        await taking.adopt("s", 2)
        await old.outbox.append("s", new("lost", "too"), Receipt("c2", b"2"))
        with pytest.raises(Fenced):
            await old.outbox.published("s", 3)
        await taking.outbox.append("s", new("b"))
        assert await taking.wait_until_published("s")
        with caplog.at_level(logging.WARNING, "handrail.bridge"):
            await old.adopt("s", 3)
        assert await both(old) == ["a", "b"]
        assert [await old.local.receipt(command) for command in ("c1", "c2")] == [b"1", None]
        assert await old.local.search("lost") == []
        assert "dropped 2 unpublished events after number 1" in caplog.text
        assert (await old.outbox.append("s", new("c")))[0].seq == 3
        assert await old.wait_until_published("s")


async def test_outdated_claim_is_fenced(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as a, connected_store(tmp_path / "b", server) as b:
        await b.adopt("s", 5)
        with pytest.raises(Fenced):
            await a.adopt("s", 4)
        await b.outbox.append("s", new("still owned"))
        assert await b.wait_until_published("s")


async def test_repeated_adoption_changes_nothing(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as machine:
        for _ in range(3):
            await machine.adopt("s", 1)
            await machine.outbox.append("s", new("x"))
            assert await machine.wait_until_published("s")
        assert await both(machine) == ["x", "x", "x"]


async def test_adoption_fails_without_nats(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server, answer_within=1.0) as machine:
        await server.kill()
        with pytest.raises(ClusterAway):
            await machine.adopt("s", 1)
        await server.start()
        await machine.adopt("s", 2)
        await machine.outbox.append("s", new("a"))
        assert await machine.wait_until_published("s")


class ReconnectingStream(SessionStream):
    """Restores the connection of the outbox right after an epoch was announced."""

    outbox: Outbox

    async def publish(self, session: str, batch: Batch, *, expected: int) -> int:
        place = await super().publish(session, batch, expected=expected)
        self.outbox.resume()
        for _ in range(3):  # NATS answers in order, so a request of the outbox is answered before the last of these
            await asyncio.sleep(0)
            await self.newest(session)
        return place


async def test_reconnect_during_an_adoption_does_not_fence_the_session(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server) as machine:
        await machine.adopt("s", 1)
        await machine.outbox.append("s", new("a"))
        assert await machine.wait_until_published("s")
        machine.outbox.give_up("s")
        await machine.outbox.append("s", new("tail"))
        remote = ReconnectingStream(machine.js)
        remote.outbox = machine.outbox
        parts = {"database": machine.database, "local": machine.local, "outbox": machine.outbox}
        await adopt("s", 2, remote=remote, **parts)
        assert not machine.lost.is_set()
        assert await machine.wait_until_published("s")
        assert await both(machine) == ["a", "tail"]


async def test_failed_adoption_of_a_given_up_session_leaves_it_given_up(tmp_path: Path, server: NatsServer):
    async with connected_store(tmp_path / "a", server, answer_within=1.0) as machine:
        await machine.adopt("s", 1)
        await server.kill()
        machine.outbox.give_up("s")
        await machine.outbox.append("s", new("tail"))
        with pytest.raises(ClusterAway):
            await machine.adopt("s", 2)
        assert not await machine.outbox.published("s", 1)
        await server.start()
        machine.outbox.resume()
        assert await machine.wait_until_published("s")
        assert await both(machine) == ["tail"]


class Cut(Exception):
    """Simulates a kill at this point."""


class Fuse:
    """Raises Cut at a given step."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def step(self) -> None:
        self.left -= 1
        if self.left <= 0:
            raise Cut


class CutDatabase(Database):
    """A store whose process is killed before or after a transaction."""

    def __init__(self, path: Path, fuse: Fuse) -> None:
        super().__init__(path)
        self._fuse = fuse

    async def change(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self._fuse.step()
        found = await super().change(work)
        self._fuse.step()
        return found


class CutStream(SessionStream):
    """The same around requests to NATS."""

    fuse: Fuse

    async def newest(self, session: str) -> Newest | None:
        self.fuse.step()
        return await super().newest(session)

    async def publish(self, session: str, batch: Batch, *, expected: int) -> int:
        self.fuse.step()
        place = await super().publish(session, batch, expected=expected)
        self.fuse.step()
        return place


@pytest.mark.parametrize("case", ["new", "own tail", "behind", "dead branch"])
async def test_interrupted_adoption_can_be_repeated(case: str, tmp_path: Path, server: NatsServer):
    """Interrupts two attempts at every possible step, then adopts without interruption."""
    async with connected(server) as js, open_store(tmp_path / "b", js) as other:
        for steps in range(1, 40):
            session, epoch = f"s{steps}", 1 if case == "new" else 5
            async with open_store(tmp_path / "a", js) as machine:
                expected = await prepared(case, session, machine, other)
            cuts = [await interrupted(tmp_path / "a", session, epoch + n, steps, js) for n in range(2)]
            async with open_store(tmp_path / "a", js) as machine:
                await machine.adopt(session, epoch + 2)
                assert await machine.wait_until_published(session)
                assert await both(machine, session) == expected, f"interrupted at step {steps}"
            if not any(cuts):
                return
    pytest.fail("adoption never finished")


async def prepared(case: str, session: str, machine: MachineStore, other: MachineStore) -> list[str]:
    """Bring a session into the state of a case; return the words expected after adoption."""
    if case == "new":
        return []
    await machine.adopt(session, 1)
    await machine.outbox.append(session, new("a"))
    assert await machine.wait_until_published(session)
    if case == "own tail":
        machine.outbox.give_up(session)
        await machine.outbox.append(session, new("tail"))
        return ["a", "tail"]
    await other.adopt(session, 2)
    await other.outbox.append(session, new("b"))
    assert await other.wait_until_published(session)
    if case == "dead branch":
        await machine.outbox.append(session, new("dead", "branch"))
        with pytest.raises(Fenced):
            await machine.outbox.published(session, 3)
    return ["a", "b"]


async def interrupted(folder: Path, session: str, epoch: int, steps: int, js: JetStreamContext) -> bool:
    """Adopt a session with a kill after `steps` steps; return whether that interrupted it."""
    async with open_store(folder, js) as machine:
        await machine.outbox.close()  # so that only the adoption publishes
        fuse = Fuse(10**6)
        database, remote = CutDatabase(machine.database.path, fuse), CutStream(machine.js)
        remote.fuse = fuse
        fuse.left = steps
        try:
            await adopt(session, epoch, database=database, local=machine.local, remote=remote, outbox=machine.outbox)
        except Cut:
            return True
        else:
            return False
        finally:
            await database.close()
