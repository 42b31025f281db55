"""Events and the record that summarises them: stored together, published in order."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import nats
import pytest
from nats.aio.msg import Msg

from handrail.bridge.cluster.nats.names import SESSIONS, bucket_subject, events_subject
from handrail.bridge.cluster.store.session_stream import decode
from handrail.bridge.cluster.store.session_writer import ClusterSessionWriter
from handrail.bridge.errors import CommandRefused, StoreFailed
from handrail.bridge.store.base import NewEvent, Receipt, SessionRecord
from handrail.testing import NatsServer
from tests.bridge.cluster.machine_store import Node, connected, new, node, said
from tests.bridge.cluster.store import record_writer
from tests.bridge.cluster.store.test_cluster_index import record


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[NatsServer]:
    async with NatsServer(tmp_path / "nats") as server:
        yield server


def writer_of(one: Node) -> ClusterSessionWriter:
    return ClusterSessionWriter(one.machine.log, one.index)


async def shared_settled(one: Node) -> int:
    """The last event that the record on NATS summarises; 0 without a record."""
    found = await one.shared.get("s")
    return found.settled if found is not None else 0


@pytest.mark.parametrize("moves", [False, True], ids=["stays", "moves"])
async def test_events_record_and_receipt_are_stored_and_published(moves: bool, tmp_path: Path, server: NatsServer):
    async with connected(server) as js, node(tmp_path / "a", js, moves=moves) as a:
        await a.machine.adopt("s", 1)
        added = await writer_of(a).write("s", new("x", "y"), record("s", settled=2), Receipt("c", b"1"))
        assert [one.seq for one in added] == [1, 2]
        assert await a.machine.local.read("s", 0) == added
        assert await a.machine.log.receipt("c") == b"1"
        stored = await a.local.get("s")
        assert stored is not None
        assert (stored.runner, stored.settled) == ("a", 2)
        await a.index.wait_published("s")
        assert await shared_settled(a) == 2
        assert await a.machine.remote.read("s", 0) == added


async def test_moving_session_is_acknowledged_after_nats_has_the_events(tmp_path: Path, server: NatsServer):
    async with connected(server) as js, node(tmp_path / "a", js, moves=True) as a:
        await a.machine.adopt("s", 1)
        await a.machine.outbox.halt("s")
        writing = asyncio.create_task(writer_of(a).write("s", new("x"), record("s", settled=1)))
        while (await a.machine.local.bounds("s")).last < 1:
            pass
        assert not writing.done()
        await a.machine.adopt("s", 1)
        assert said(await writing) == ["x"]
        assert said(await a.machine.remote.read("s", 0)) == ["x"]


async def test_record_is_stored_after_events_that_wait_for_a_commit(tmp_path: Path, server: NatsServer):
    async with connected(server) as js, node(tmp_path / "a", js, moves=True) as a:
        for session in ("s", "t", "u"):
            await a.machine.adopt(session, 1)
        await asyncio.gather(*(writer_of(a).write(session, new("x")) for session in "stu"))
        writing = asyncio.create_task(writer_of(a).write("s", new("y")))  # waits for other sessions to share with
        await asyncio.sleep(0)
        await writer_of(a).write("s", [], record("s", settled=2))
        assert said(await a.machine.local.read("s", 0)) == ["x", "y"]
        await writing


class Published:
    """The messages of one session in the order in which the server received them, seen by a plain subscriber."""

    def __init__(self) -> None:
        self.order: list[tuple[str, int]] = []
        self._changed = asyncio.Event()

    async def note(self, message: Msg) -> None:
        if message.subject == events_subject("s"):
            self.order.append(("events", decode(message.data).last))
        elif message.subject == bucket_subject(SESSIONS, "s"):
            self.order.append(("record", msgspec.json.decode(message.data, type=SessionRecord).settled))
        self._changed.set()

    async def until_record(self, settled: int) -> None:
        async with asyncio.timeout(20):
            while ("record", settled) not in self.order:
                self._changed.clear()
                await self._changed.wait()

    def is_ordered(self) -> bool:
        """Whether every record follows the events it summarises."""
        published = 0
        for kind, last in self.order:
            published = last if kind == "events" else published
            if last > published:
                return False
        return True


@asynccontextmanager
async def observed(server: NatsServer) -> AsyncGenerator[Published]:
    published = Published()
    connection = await nats.connect(server.url)
    await connection.subscribe(">", cb=published.note)  # one subscription, because only that preserves the order
    await connection.flush()
    yield published
    await connection.close()


@pytest.mark.parametrize("moves", [False, True], ids=["stays", "moves"])
async def test_every_record_is_published_after_its_events(moves: bool, tmp_path: Path, server: NatsServer):
    async with connected(server) as js, node(tmp_path / "a", js, moves=moves) as a, observed(server) as published:
        await a.machine.adopt("s", 1)
        writer = writer_of(a)
        for n in range(1, 61):
            await writer.write("s", new(f"{n}"), record("s", settled=n))
        await published.until_record(60)
        assert published.is_ordered(), published.order


async def test_record_waits_while_its_events_are_not_published(tmp_path: Path, server: NatsServer):
    async with connected(server) as js, node(tmp_path / "a", js) as a:
        writer = writer_of(a)
        await a.machine.adopt("s", 1)
        await writer.write("s", new("x"), record("s", settled=1))
        await a.index.wait_published("s")
        await a.machine.outbox.halt("s")
        await writer.write("s", new("y"), record("s", settled=2))
        await writer.write("t", [], record("t"))
        await a.index.wait_published("t")
        assert await shared_settled(a) == 1
        await a.machine.adopt("s", 1)
        await a.index.wait_published("s")
        assert await shared_settled(a) == 2


async def test_record_that_cannot_be_stored_keeps_its_events_out(tmp_path: Path, server: NatsServer):
    async with connected(server) as js, node(tmp_path / "a", js) as a:
        await a.machine.adopt("s", 1)
        await a.machine.database.execute(
            "CREATE TRIGGER full BEFORE INSERT ON session BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )
        with pytest.raises(StoreFailed, match="no room"):
            await writer_of(a).write("s", new("x"), record("s"), Receipt("c", b"1"))
        assert (await a.machine.local.bounds("s")).last == 0
        assert await a.machine.local.receipt("c") is None
        await a.machine.database.execute("DROP TRIGGER full")
        assert [one.seq for one in await writer_of(a).write("s", new("x"), record("s"))] == [1]


async def test_rejected_events_leave_the_old_record(tmp_path: Path, server: NatsServer):
    async with connected(server) as js, node(tmp_path / "a", js) as a:
        writer = writer_of(a)
        with pytest.raises(CommandRefused, match="does not run on this machine"):
            await writer.write("s", new("x"), record("s"))
        await a.machine.adopt("s", 1)
        with pytest.raises(StoreFailed, match="exceeds the limit"):
            await writer.write("s", [NewEvent("frame", b"x" * 2**23)], record("s"))
        assert await a.local.get("s") is None


async def test_record_without_events_needs_no_ownership(tmp_path: Path, server: NatsServer):
    async with connected(server) as js, node(tmp_path / "a", js) as a:
        assert await writer_of(a).write("s", [], record("s", title="new"), Receipt("c", b"1")) == []
        await a.index.wait_published("s")
        seen = await a.shared.get("s")
        assert seen is not None
        assert (seen.title, seen.runner) == ("new", "a")
        assert await a.machine.log.receipt("c") == b"1"


async def test_events_and_receipts_need_no_record(tmp_path: Path, server: NatsServer):
    async with connected(server) as js, node(tmp_path / "a", js) as a:
        await a.machine.adopt("s", 1)
        writer = writer_of(a)
        assert said(await writer.write("s", new("x"))) == ["x"]
        assert await writer.write("", [], receipt=Receipt("c", b"1")) == []
        assert await writer.write("s", []) == []
        assert await a.machine.log.receipt("c") == b"1"
        assert await a.index.list() == []


async def test_write_of_a_cancelled_caller_is_published_in_order(tmp_path: Path, server: NatsServer):
    async with connected(server) as js, node(tmp_path / "a", js) as a, observed(server) as published:
        await a.machine.adopt("s", 1)
        writing = asyncio.create_task(writer_of(a).write("s", new("x"), record("s", settled=1)))
        await asyncio.sleep(0)
        writing.cancel()
        await asyncio.wait([writing])
        assert writing.cancelled()
        await published.until_record(1)
        assert published.is_ordered(), published.order


async def test_kill_after_any_commit_leaves_events_and_record_in_step(tmp_path: Path, server: NatsServer):
    async with connected(server):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        for commit in (1, 2, 3, 4):
            arguments = (str(tmp_path / "a"), server.url, str(commit), str(commit))
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", record_writer.__name__, *arguments),
                stdout=asyncio.subprocess.PIPE,
                env=environment,
            )
            output, _ = await child.communicate()
            assert child.returncode == -signal.SIGKILL
            db = sqlite3.connect(tmp_path / "a" / "handrail.db")
            (last,) = db.execute("SELECT last FROM log WHERE session = 's'").fetchone()
            (stored,) = db.execute("SELECT record FROM session WHERE id = 's'").fetchone()
            receipts = {command for (command,) in db.execute("SELECT command FROM receipt")}
            db.close()
            assert msgspec.json.decode(stored, type=SessionRecord).settled == last > 0
            assert f"c{last}" in receipts
            assert all(int(line) <= last for line in output.split())
