"""The session index of a clustered machine: one list, records after their events, nothing from previous owners."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from handrail.bridge.cluster.store.cluster_index import ClusterIndex
from handrail.bridge.errors import Fenced
from handrail.bridge.store.base import SessionRecord
from handrail.bridge.store.session_index import SqliteSessionIndex
from handrail.testing import SESSION_INDEX_CHECKS, NatsServer, SessionIndexCheck, run_port_check
from tests.bridge.cluster.machine_store import Node, connected, new, node, open_store
from tests.bridge.shared_nats import shared_server


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[NatsServer]:
    async with NatsServer(tmp_path / "nats") as server:
        yield server


def record(id: str, changed: int = 1, **fields: Any) -> SessionRecord:
    return SessionRecord(id=id, cwd="/work", created=1, changed=changed, **fields)


@pytest.mark.parametrize("check", SESSION_INDEX_CHECKS, ids=lambda check: check.__name__)
async def test_cluster_index_passes_the_session_index_suite(check: SessionIndexCheck, tmp_path: Path):
    @asynccontextmanager
    async def opens() -> AsyncGenerator[ClusterIndex]:
        async with connected(await shared_server()) as js:
            await js.purge_stream("KV_handrail-sessions")
            # The suite compares records, which contain the name of their machine.
            async with node(tmp_path, js, name="") as one:
                yield one.index

    await run_port_check(check, opens)


async def test_all_machines_list_all_sessions_with_their_runners(tmp_path: Path, server: NatsServer):
    async with connected(server) as js, node(tmp_path / "a", js) as a, node(tmp_path / "b", js) as b:
        await a.index.put(record("s", 1, title="of a"))
        await b.index.put(record("t", 2, title="of b"))
        await a.sees("t", title="of b")
        await b.sees("s", title="of a")
        for one in (a, b):
            listed = [(line.id, line.runner) for line in await one.index.lines()]
            assert listed == [("t", "b"), ("s", "a")]
        assert [line.id for line in await a.index.own().lines()] == ["s"]
        await a.index.delete("s")
        await b.sees("s")
        assert [line.id for line in await b.index.lines()] == ["t"]


async def test_record_is_published_after_its_events(tmp_path: Path, server: NatsServer):
    async with connected(server) as js, node(tmp_path / "a", js) as a:
        await a.machine.adopt("s", 1)
        await a.index.put(record("s", title="before"))
        await a.index.wait_published("s")
        await a.machine.outbox.halt("s")  # its events are not published
        appending = asyncio.create_task(a.machine.outbox.append("s", new("x")))
        await asyncio.sleep(0)
        await a.index.put(record("s", title="after", settled=1))
        await appending
        await a.index.put(record("t", title="independent of the other session"))
        await a.index.wait_published("t")
        seen = await a.shared.get("s")
        assert seen is not None
        assert seen.title == "before"
        await a.machine.adopt("s", 1)
        await a.index.wait_published("s")
        seen = await a.shared.get("s")
        assert seen is not None
        assert (seen.title, seen.settled) == ("after", 1)
        assert (await a.machine.remote.bounds("s")).last == 1


async def test_only_the_newest_pending_record_is_published(tmp_path: Path, server: NatsServer):
    async with connected(server) as js, node(tmp_path / "a", js) as a:
        await server.kill()
        for n in range(50):
            await a.index.put(record("s", n, title=f"{n}"))
        assert [line.title for line in await a.index.lines()] == ["49"]
        await server.start()
        a.index.resume()
        await a.index.wait_published("s")
        seen = await a.shared.get("s")
        assert seen is not None
        assert seen.title == "49"
        assert (await js.stream_info("KV_handrail-sessions")).state.last_seq <= 3


async def test_next_process_publishes_pending_records_and_deletions(tmp_path: Path, server: NatsServer):
    async with connected(server) as js:
        async with node(tmp_path / "a", js) as a:
            await a.index.put(record("gone"))
            await a.index.wait_published("gone")
            await server.kill()
            await a.index.put(record("s", title="new"))
            await a.index.delete("gone")
            assert await a.index.get("gone") is None
        await server.start()
        async with node(tmp_path / "a", js) as a:
            await a.index.wait_published("s")
            await a.index.wait_published("gone")
        async with node(tmp_path / "b", js) as b:
            assert [(line.id, line.title) for line in await b.index.lines()] == [("s", "new")]
        before = (await js.stream_info("KV_handrail-sessions")).state.last_seq
        async with node(tmp_path / "a", js) as a:  # and only once
            await a.index.wait_published("s")
        assert (await js.stream_info("KV_handrail-sessions")).state.last_seq == before


async def test_records_from_before_the_cluster_are_published_with_a_runner(tmp_path: Path, server: NatsServer):
    async with connected(server) as js:
        async with open_store(tmp_path / "a", js) as machine:
            await SqliteSessionIndex(machine.database).put(record("old"))
        async with node(tmp_path / "a", js) as a:
            await a.index.wait_published("old")
            seen = await a.shared.get("old")
            assert seen is not None
            assert seen.runner == "a"


async def test_record_of_a_previous_owner_is_not_published(tmp_path: Path, server: NatsServer):
    async with connected(server) as js, node(tmp_path / "a", js) as a, node(tmp_path / "b", js) as b:
        await a.machine.adopt("s", 1)
        await a.index.put(record("s", 1, title="of a"))
        await a.index.wait_published("s")
        await b.sees("s", title="of a")
        await b.machine.adopt("s", 2)
        await b.index.adopt("s")
        await b.index.put(record("s", 2, title="of b"))
        await b.index.wait_published("s")
        await a.machine.outbox.append("s", new("x"))
        with pytest.raises(Fenced):
            await a.machine.outbox.published("s", 1)
        await a.machine.lost.wait()
        await a.sees("s", title="of b")
        await a.index.put(record("s", 3, title="of a again"))
        await a.index.wait_published("s")
        assert (await b.index.lines())[0].title == "of b"
        await a.sees("s", title="of b", runner="b")


async def test_new_owner_takes_over_the_record(tmp_path: Path, server: NatsServer):
    async with connected(server) as js, node(tmp_path / "a", js) as a, node(tmp_path / "b", js) as b:
        await a.index.put(record("s", title="title", options={"model": "m"}))
        await b.sees("s", title="title")
        await b.machine.adopt("s", 2)
        b.machine.held.sessions.clear()  # a session is held only after its record was taken over
        await b.index.adopt("s")
        await b.index.wait_published("s")
        b.machine.held.sessions.add("s")
        found = await b.index.get("s")
        assert found is not None
        assert (found.title, found.options, found.runner) == ("title", {"model": "m"}, "b")
        await a.sees("s", runner="b")


@pytest.mark.parametrize(
    ("state", "shown"),
    [("running", "interrupted"), ("idle", "interrupted"), ("hibernated", "hibernated"), ("failed", "failed")],
)
async def test_active_session_of_a_lost_machine_is_interrupted(
    state: Any, shown: str, tmp_path: Path, server: NatsServer
):
    lost: set[str] = set()
    async with (
        connected(server) as js,
        node(tmp_path / "a", js) as a,
        node(tmp_path / "b", js, alive=lambda name: name not in lost) as b,
    ):
        await a.index.put(record("s", state=state))
        await b.sees("s", state=state)
        lost.add("a")
        assert [line.state for line in await b.index.lines()] == [shown]
        found = await b.index.get("s")
        assert found is not None
        assert found.state == shown
        seen = await b.shared.get("s")
        assert seen is not None
        assert seen.state == state


async def test_pages_are_consistent_while_records_are_pending(tmp_path: Path, server: NatsServer):
    async with connected(server) as js, node(tmp_path / "a", js) as a:
        for n in range(10):
            await a.index.put(record(f"s{n}", n))
            await a.index.wait_published(f"s{n}")
        await server.kill()
        await a.index.put(record("s3", 30))
        await a.index.put(record("s4", 0))
        await a.index.delete("s5")
        await a.index.put(record("new", 20))
        pages = [[one.id for one in await a.index.list(limit=4, offset=offset)] for offset in (0, 4, 8)]
        assert pages == [["s3", "new", "s9", "s8"], ["s7", "s6", "s2", "s1"], ["s4", "s0"]]


async def test_own_sessions_are_listed_before_nats_was_reachable(tmp_path: Path, server: NatsServer):
    async with connected(server) as js, open_store(tmp_path / "a", js) as machine:
        one = Node(machine, "a", lambda name: True)
        await one.index.open()
        await one.local.put(record("s"))
        assert [line.id for line in await one.index.lines()] == ["s"]
        assert await one.index.get("s") is not None
        await one.index.close()
