"""Taking a session up: the store has what NATS has, whoever wrote it, and wherever we were cut off before."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from nats.js import JetStreamContext

from handrail.bridge.cluster.names import EVENTS
from handrail.bridge.cluster.store.adoption import adopt
from handrail.bridge.cluster.store.batch import Batch
from handrail.bridge.cluster.store.event_log import JetStreamEventLog
from handrail.bridge.cluster.store.session_stream import Newest
from handrail.bridge.errors import ClusterAway, Fenced
from handrail.bridge.store.base import Bounds, NewEvent, Receipt
from handrail.bridge.store.database import Database
from handrail.testing import NatsServer
from tests.bridge.cluster.machine import Machine, connected, joined, living, new, said

T = TypeVar("T")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[NatsServer]:
    async with NatsServer(tmp_path / "nats") as server:
        yield server


async def both(machine: Machine, session: str = "s") -> list[str]:
    """What a session says, here and on NATS alike."""
    found = await machine.local.read(session, 0, limit=10**6, most_bytes=2**30)
    assert found == await machine.remote.read(session, 0, limit=10**6, most_bytes=2**30)
    assert await machine.local.bounds(session) == await machine.remote.bounds(session)
    return said(found)


async def test_a_new_session_is_one_message(tmp_path: Path, server: NatsServer):
    async with joined(tmp_path / "a", server) as machine:
        before = (await machine.js.stream_info(EVENTS)).state.messages
        await machine.adopt("s", 1)
        assert (await machine.js.stream_info(EVENTS)).state.messages == before + 1
        newest = await machine.remote.newest("s")
        assert newest is not None
        assert newest.batch == Batch(epoch=1, first=1, start=1)
        assert machine.outbox.behind.events == 0


async def test_another_machine_has_all_that_was_published_with_texts_and_receipts(tmp_path: Path, server: NatsServer):
    async with joined(tmp_path / "a", server) as a, joined(tmp_path / "b", server) as b:
        await a.adopt("s", 1)
        await a.outbox.append("s", new("apple"), Receipt("c1", b"1"))
        await a.outbox.append("s", new("pear", "plum"), Receipt("c2", b"2"))
        assert await a.drained("s")
        await b.adopt("s", 2)
        assert await both(b) == ["apple", "pear", "plum"]
        assert [await b.local.receipt(command) for command in ("c1", "c2", "c3")] == [b"1", b"2", None]
        assert [hit.seq for hit in await b.local.search("plu")] == [3]
        added = await b.outbox.append("s", new("fig"))
        assert added[0].seq == 4
        assert await b.drained("s")
        await a.adopt("s", 3)
        assert await both(a) == ["apple", "pear", "plum", "fig"]


async def test_a_session_goes_to_and_fro_and_each_takes_only_what_it_has_not(tmp_path: Path, server: NatsServer):
    async with joined(tmp_path / "a", server) as a, joined(tmp_path / "b", server) as b:
        words: list[str] = []
        for epoch in range(1, 8):
            machine = a if epoch % 2 else b
            await machine.adopt("s", epoch)
            words += [f"{epoch}-{n}" for n in range(5)]
            for word in words[-5:]:
                await machine.outbox.append("s", new(word))
            assert await machine.drained("s")
            assert await both(machine) == words


async def test_a_large_session_comes_page_by_page(tmp_path: Path, server: NatsServer):
    async with joined(tmp_path / "a", server) as a, joined(tmp_path / "b", server) as b:
        await a.adopt("s", 1)
        words = [f"{n}" for n in range(4500)]
        await a.outbox.append("s", new(*words))
        await a.outbox.append("s", [NewEvent("frame", b'"%s"' % (b"x" * 2**20)) for _ in range(4)])
        assert await a.drained("s")
        await b.adopt("s", 2)
        assert (await both(b))[:4500] == words
        assert (await b.local.bounds("s")).last == 4504


async def test_what_was_given_up_is_not_fetched_and_the_numbers_go_on(tmp_path: Path, server: NatsServer):
    async with joined(tmp_path / "a", server) as a, joined(tmp_path / "b", server) as b:
        await a.adopt("s", 1)
        for word in "abcd":
            await a.outbox.append("s", new(word))
            assert await a.drained("s")
        await b.adopt("s", 2)
        await b.outbox.forget("s", 2)
        await b.outbox.append("s", new("e"))
        assert await b.drained("s")
        await a.adopt("s", 3)
        assert await both(a) == ["c", "d", "e"]
        assert await a.local.bounds("s") == Bounds(3, 5)
        await a.outbox.forget("s", None)
        added = await a.outbox.append("s", new("f"))
        assert await a.drained("s")
        assert added[0].seq == 6
        await b.adopt("s", 4)
        assert await both(b) == ["f"]


async def test_all_that_was_given_up_leaves_the_next_number(tmp_path: Path, server: NatsServer):
    async with joined(tmp_path / "a", server) as a, joined(tmp_path / "b", server) as b:
        await a.adopt("s", 1)
        await a.outbox.append("s", new("a", "b"))
        assert await a.drained("s")
        await a.outbox.forget("s", None)
        await a.outbox.close()
        await b.adopt("s", 2)
        assert await b.local.bounds("s") == Bounds(3, 2)


async def test_what_only_we_have_goes_on_where_nobody_else_wrote(tmp_path: Path, server: NatsServer):
    async with joined(tmp_path / "a", server) as machine:
        await machine.adopt("s", 1)
        await machine.outbox.append("s", new("a"))
        assert await machine.drained("s")
        await server.kill()
        await machine.outbox.append("s", new("b"), Receipt("c", b"1"))
        machine.outbox.give_up("s")
        await server.start()
        await machine.adopt("s", 2)
        assert await machine.drained("s")
        assert await both(machine) == ["a", "b"]
        assert await machine.remote.receipt("c") == b"1"


async def test_what_a_fenced_owner_wrote_last_is_a_dead_branch_and_goes(
    tmp_path: Path, server: NatsServer, caplog: pytest.LogCaptureFixture
):
    async with joined(tmp_path / "a", server) as old, joined(tmp_path / "b", server) as taking:
        await old.adopt("s", 1)
        await old.outbox.append("s", new("a"), Receipt("c1", b"1"))
        assert await old.drained("s")
        await taking.adopt("s", 2)
        await old.outbox.append("s", new("lost", "too"), Receipt("c2", b"2"))
        with pytest.raises(Fenced):
            await old.outbox.published("s", 3)
        await taking.outbox.append("s", new("b"))
        assert await taking.drained("s")
        with caplog.at_level(logging.WARNING, "handrail.bridge"):
            await old.adopt("s", 3)
        assert await both(old) == ["a", "b"]
        assert [await old.local.receipt(command) for command in ("c1", "c2")] == [b"1", None]
        assert await old.local.search("lost") == []
        assert "2 events after number 1 were dropped" in caplog.text
        assert (await old.outbox.append("s", new("c")))[0].seq == 3
        assert await old.drained("s")


async def test_whoever_was_overtaken_while_he_claimed_is_told(tmp_path: Path, server: NatsServer):
    async with joined(tmp_path / "a", server) as a, joined(tmp_path / "b", server) as b:
        await b.adopt("s", 5)
        with pytest.raises(Fenced):
            await a.adopt("s", 4)
        await b.outbox.append("s", new("still ours"))
        assert await b.drained("s")


async def test_the_same_twice_is_the_same_as_once(tmp_path: Path, server: NatsServer):
    async with joined(tmp_path / "a", server) as machine:
        for _ in range(3):
            await machine.adopt("s", 1)
            await machine.outbox.append("s", new("x"))
            assert await machine.drained("s")
        assert await both(machine) == ["x", "x", "x"]


async def test_without_nats_nothing_is_taken_up(tmp_path: Path, server: NatsServer):
    async with joined(tmp_path / "a", server) as machine:
        await server.kill()
        with pytest.raises(ClusterAway):
            await machine.adopt("s", 1)
        await server.start()
        await machine.adopt("s", 2)
        await machine.outbox.append("s", new("a"))
        assert await machine.drained("s")


class Cut(Exception):
    """Here the process was killed."""


class Fuse:
    """Goes after so many steps."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def step(self) -> None:
        self.left -= 1
        if self.left <= 0:
            raise Cut


class CutDatabase(Database):
    """A store whose process is killed before or after a change."""

    def __init__(self, path: Path, fuse: Fuse) -> None:
        super().__init__(path)
        self._fuse = fuse

    async def change(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self._fuse.step()
        found = await super().change(work)
        self._fuse.step()
        return found


class CutStream(JetStreamEventLog):
    """The same on the way to NATS."""

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
async def test_cut_off_anywhere_and_begun_again_the_end_is_the_same(case: str, tmp_path: Path, server: NatsServer):
    """Every place at which a taking up can be cut off, one after the other; and twice in a row."""
    async with connected(server) as js, living(tmp_path / "b", js) as other:
        for steps in range(1, 40):
            session, epoch = f"s{steps}", 1 if case == "new" else 5
            async with living(tmp_path / "a", js) as machine:
                expected = await prepared(case, session, machine, other)
            cuts = [await cut_off(tmp_path / "a", session, epoch + n, steps, js) for n in range(2)]
            async with living(tmp_path / "a", js) as machine:
                await machine.adopt(session, epoch + 2)
                assert await machine.drained(session)
                assert await both(machine, session) == expected, f"cut off at {steps}"
            if not any(cuts):
                return
    pytest.fail("it never came to its end")


async def prepared(case: str, session: str, machine: Machine, other: Machine) -> list[str]:
    """A session in some state. Out: what it must say in the end."""
    if case == "new":
        return []
    await machine.adopt(session, 1)
    await machine.outbox.append(session, new("a"))
    assert await machine.drained(session)
    if case == "own tail":
        machine.outbox.give_up(session)
        await machine.outbox.append(session, new("tail"))
        return ["a", "tail"]
    await other.adopt(session, 2)
    await other.outbox.append(session, new("b"))
    assert await other.drained(session)
    if case == "dead branch":
        await machine.outbox.append(session, new("dead", "branch"))
        with pytest.raises(Fenced):
            await machine.outbox.published(session, 3)
    return ["a", "b"]


async def cut_off(folder: Path, session: str, epoch: int, steps: int, js: JetStreamContext) -> bool:
    """Take a session up, and be killed after so many steps. Out: whether that was before the end."""
    async with living(folder, js) as machine:
        await machine.outbox.close()  # what it would publish by itself is another test's
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
