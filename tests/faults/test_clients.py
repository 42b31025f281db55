"""Reconnecting, slow and numerous clients: each sees every event once and delays no other."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from handrail.bridge.store.base import NewEvent
from handrail.bridge.store.database import Database
from handrail.bridge.store.event_log import TABLES, SqliteEventLog
from tests.faults.conftest import Scene
from tests.faults.fault_proxy import FaultProxy
from tests.faults.server_process import ServerProcess, seed_sessions
from tests.faults.watcher import Watcher

pytestmark = pytest.mark.asyncio(loop_scope="module")
TABS = 20


async def test_turn_continues_without_its_client_f20(scene: Scene):
    server = scene.server
    async with FaultProxy(server.port) as proxy, Watcher("away", proxy.url, server.token, answers=False) as away:
        session = await away.start(server.work)
        await scene.watcher.follow(session)
        proxy.refuses = True
        proxy.cut()
        await scene.watcher.turn(session, "flood=1000 ask=1 deltas=5 blocks=2")
        proxy.refuses = False
        last = scene.seen(session).last
        await away.until(lambda: away.sessions[session].last >= last)
        ours = [event for event in scene.seen(session).events if event[0] <= last]
        assert [event for event in away.sessions[session].events if event[0] <= last] == ours


async def test_question_waits_for_the_client_to_reconnect_f20(scene: Scene):
    server = scene.server
    async with FaultProxy(server.port) as proxy, Watcher("asked", proxy.url, server.token, answers=False) as asked:
        session = await asked.start(server.work)
        sent = await asked.command("send", session=session, text="ask=1")
        seen = asked.sessions[session]
        await asked.until(lambda: seen.of_kind("asked"))
        proxy.cut()
        connections = asked.connections
        await asked.until(lambda: asked.connections > connections)
        assert len(seen.of_kind("asked")) == 1
        await asked.answer(session)
        await asked.until(lambda: sent["uuid"] in seen.over)


async def test_slow_client_is_dropped_without_delaying_others_f22(scene: Scene):
    server = scene.server
    async with FaultProxy(server.port) as proxy, Watcher("slow", proxy.url, server.token) as slow:
        session = await scene.session()
        await slow.follow(session)
        await slow.until(lambda: slow.sessions[session].verdicts)
        proxy.stall()
        before = server.memory()
        await scene.watcher.turn(session, "wide=500 deltas=100 blocks=40")
        assert server.memory() - before < 64 * 1024 * 1024
        proxy.flow()
        await slow.until(lambda: slow.sessions[session].last >= scene.seen(session).last)
        assert slow.resyncs >= 1


async def test_twenty_tabs_see_the_same_events_and_one_answer_f36(scene: Scene):
    session = await scene.session()
    async with contextlib.AsyncExitStack() as stack:
        urls = (scene.server.url, scene.server.token)
        tabs = [await stack.enter_async_context(Watcher(f"tab-{n}", *urls)) for n in range(TABS)]
        for tab in tabs:
            await tab.follow(session)
            await tab.until(lambda tab=tab: tab.sessions[session].verdicts)
        await scene.watcher.turn(session, "ask=1 deltas=5 blocks=1")
        last = scene.seen(session).last
        for tab in tabs:
            await tab.until(lambda tab=tab: tab.sessions[session].last >= last)
        views = {json.dumps(tab.sessions[session].events[:last]) for tab in tabs}
    assert len(views) == 1
    assert len(scene.seen(session).of_kind("answered")) == 1
    assert len(scene.seen(session).of_kind("started")) == 1


async def test_client_behind_the_retained_events_gets_a_snapshot_f37(tmp_path: Path):
    server = ServerProcess(tmp_path)
    seed_sessions(server.data, 1, server.work)
    (session,) = (f"00000000-0000-4000-8000-{0:012d}",)
    database = Database(server.data / "handrail.db", TABLES)
    log = SqliteEventLog(database)
    await log.append(session, [NewEvent("changed", b'{"title":"%d"}' % n) for n in range(50)])
    await log.forget(session, through=20)
    await database.close()
    async with server, Watcher("late", server.url, server.token) as late:
        seen = await late.follow_from(session, 10)
        await late.until(lambda: seen.last == 50)
    assert (seen.verdicts[0]["verdict"], seen.verdicts[0]["reason"]) == ("snapshot", "older events were deleted")
    assert seen.events[0][0] == 21
