"""A server killed at any moment loses nothing that it acknowledged and restarts quickly."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.campaign import kill_server
from tests.faults.server_process import ServerProcess
from tests.faults.watcher import Refused, Watcher

KILLS = 3
SEED = 11


async def test_killed_server_loses_nothing_and_leaves_no_orphans_f18_f34(tmp_path: Path):
    report = await kill_server(tmp_path, KILLS, SEED)
    assert report.faults == []
    assert report.turns > 0


async def test_a_question_is_interrupted_by_a_kill_and_its_turn_can_be_run_again(tmp_path: Path):
    server = ServerProcess(tmp_path)
    async with server, Watcher("client", server.url, server.token, answers=False) as client:
        session = await client.start(server.work)
        seen = client.sessions[session]
        await client.command("send", session=session, text="ask=1 blocks=1")
        await client.until(lambda: seen.of_kind("asked"))
        await server.kill()
        await server.start()
        await client.until(lambda: seen.of_kind("closed"))
        asked, closed = seen.of_kind("asked")[0], seen.of_kind("closed")[0]
        assert closed == {"question": asked["question"], "why": "the server was restarted", "interrupted": True}
        with pytest.raises(Refused, match="not open"):  # an answer given meanwhile is reported, not dropped
            await client.answer(session)
        await client.command("retry", session=session)
        await client.until(lambda: len(seen.of_kind("asked")) == 2)
        await client.answer(session)
        await client.until(lambda: seen.results() and seen.results()[-1]["subtype"] == "success")


async def test_a_restart_keeps_the_dates_of_idle_sessions(tmp_path: Path):
    async with ServerProcess(tmp_path) as server, Watcher("client", server.url, server.token) as client:
        sessions = [await client.start(server.work) for _ in range(2)]
        for session in sessions:
            await client.turn(session, "blocks=1")
        await client.until(lambda: all(client.sessions[one].state == "idle" for one in sessions))
        before = await server.listed()
        for end in (server.kill, server.stop):
            await end()
            await server.start()
            after = await server.listed()
            assert {one["state"] for one in after.values()} == {"hibernated"}
            assert {id: one["changed"] for id, one in after.items()} == {
                id: one["changed"] for id, one in before.items()
            }
