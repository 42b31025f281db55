"""Clock changes and suspended machines end no session, and events stay in order."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator

import httpx2
import pytest
import pytest_asyncio

from tests.faults.checker import check
from tests.faults.conftest import Scene
from tests.faults.fault_proxy import FaultProxy
from tests.faults.server_process import ServerProcess, sockets_of
from tests.faults.watcher import Watcher

pytestmark = pytest.mark.asyncio(loop_scope="module")
HOUR, DECADE = 3600.0, 315_360_000.0
SLEEP = 8 * HOUR


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def aging(tmp_path_factory: pytest.TempPathFactory):
    """A server that deletes sessions older than a month."""
    server = ServerProcess(tmp_path_factory.mktemp("server"), keep_days=30)
    async with server, Watcher("client", server.url, server.token) as watcher:
        yield Scene(server, watcher)
    assert await server.orphans() == []
    assert check(server.data / "handrail.db", server.diaries, [watcher.write(server.folder)], killed=False) == []


@pytest.mark.parametrize("jump", [HOUR, -HOUR, DECADE, -DECADE], ids=["hour", "hour back", "decade", "decade back"])
async def test_setting_the_clock_ends_nothing_f23(aging: Scene, jump: float):
    server, watcher = aging.server, aging.watcher
    resting = await aging.session()
    await watcher.turn(resting, "blocks=1")
    await watcher.command("stop", session=resting)
    await watcher.until(lambda: aging.seen(resting).state == "hibernated")
    asking = await aging.session()
    watcher.answers = False
    sent = await watcher.command("send", session=asking, text="ask=1 blocks=1")
    await watcher.until(lambda: aging.seen(asking).of_kind("asked"))
    async with _browser(server) as browser:
        await server.move(wall=jump)
        await server.move(steady=HOUR + 60)  # retention runs once an hour
        assert (await browser.get("/api/sessions")).status_code == 200
    watcher.answers = True
    await watcher.answer(asking)
    await watcher.until(lambda: sent["uuid"] in aging.seen(asking).over)
    await watcher.turn(resting, "blocks=1")  # it still exists and can be resumed
    places = [seq for seq, _, _ in aging.seen(resting).events]
    assert places == list(range(1, len(places) + 1))
    async with _browser(server) as browser:
        listed = [one["id"] for one in (await browser.get("/api/sessions")).json()["sessions"]]
    assert listed.index(resting) < listed.index(asking), "the most recently used session must be listed first"
    await server.move(wall=-jump)


@pytest.mark.parametrize("counts", [False, True], ids=["timers paused", "timers running"])
async def test_sessions_continue_after_a_night_of_suspension_f24(aging: Scene, counts: bool):
    server, watcher = aging.server, aging.watcher
    idle, silent = await aging.session(), await aging.session()
    await watcher.turn(idle, "blocks=1")
    sent = await watcher.command("send", session=silent, text="silent=1")
    await watcher.until(lambda: any(data.get("isReplay") for data in aging.seen(silent).of_kind("frame")))
    async with FaultProxy(server.port) as proxy, Watcher("away", proxy.url, server.token, answers=False) as away:
        asking = await away.start(server.work)
        asked = await away.command("send", session=asking, text="ask=1 blocks=1")
        await away.until(lambda: away.sessions[asking].of_kind("asked"))
        await server.move(wall=SLEEP, steady=SLEEP if counts else 0.0)
        proxy.cut()  # connections do not survive the suspension
        connections = away.connections
        await away.until(lambda: away.connections > connections, 5)
        assert away.sessions[asking].of_kind("closed") == []
        assert (aging.seen(silent).results(), aging.seen(silent).of_kind("ended")) == ([], [])
        await away.answer(asking)
        await away.until(lambda: asked["uuid"] in away.sessions[asking].over)
        assert away.sessions[asking].results()[-1]["subtype"] == "success"
    await watcher.command("interrupt", session=silent)
    await watcher.until(lambda: sent["uuid"] in aging.seen(silent).over)
    if counts:
        await watcher.until(lambda: aging.seen(idle).state == "hibernated")
    await watcher.turn(idle, "blocks=1")
    assert [end["subtype"] for end in aging.seen(idle).results()] == ["success", "success"]


@pytest.mark.parametrize("seconds", [1.0, 60.0, SLEEP], ids=["second", "minute", "night"])
async def test_client_misses_nothing_after_any_absence_f20(aging: Scene, seconds: float):
    server, watcher = aging.server, aging.watcher
    async with FaultProxy(server.port) as proxy, Watcher("gone", proxy.url, server.token, answers=False) as gone:
        session = await gone.start(server.work)
        await watcher.follow(session)
        watcher.answers = False
        sent = await gone.command("send", session=session, text="flood=1000 deltas=5 blocks=2 ask=1 blocks=1")
        proxy.refuses = True
        proxy.cut()
        await watcher.until(lambda: aging.seen(session).of_kind("asked"))
        await server.move(wall=seconds, steady=seconds)
        proxy.refuses = False
        await gone.until(lambda: gone.sessions[session].of_kind("asked"))
        await gone.answer(session)  # the question is shown again and still pending
        await gone.until(lambda: sent["uuid"] in gone.sessions[session].over)
        await watcher.until(lambda: sent["uuid"] in aging.seen(session).over)
        last = min(gone.sessions[session].last, aging.seen(session).last)
        both = [[event for event in seen.events if event[0] <= last] for seen in _both(gone, watcher, session)]
        assert json.dumps(both[0]) == json.dumps(both[1])
        watcher.answers = True


@contextlib.asynccontextmanager
async def _browser(server: ServerProcess) -> AsyncGenerator[httpx2.AsyncClient]:
    """A browser logged in through a link."""
    address = f"http://127.0.0.1:{server.port}"
    options = {"base_url": address, "trust_env": False, "verify": False}
    async with httpx2.AsyncClient(**options, headers={"authorization": f"Bearer {server.token}"}) as owner:
        link = (await owner.post("/api/links", json={})).json()["link"]
    async with httpx2.AsyncClient(**options, headers={"origin": address, "connection": "close"}) as browser:
        assert (await browser.post("/api/login", json={"link": link})).status_code == 200
        yield browser


def _both(one: Watcher, other: Watcher, session: str):
    return one.sessions[session], other.sessions[session]


async def test_unplugged_link_is_noticed_within_forty_seconds_f21(aging: Scene):
    server = aging.server
    async with FaultProxy(server.port) as proxy, Watcher("gone", proxy.url, server.token) as gone:
        session = await gone.start(server.work)
        await aging.watcher.follow(session)
        await aging.watcher.until(lambda: aging.seen(session).verdicts)
        before = sockets_of(server.pid)
        proxy.gone = True
        await aging.watcher.turn(session, "wide=500 deltas=100 blocks=40")  # unsent data blocks no other client
        assert await server.pass_time(lambda: sockets_of(server.pid) < before, step=1, pause=0.1) < 45
