"""Children that go wrong: each row of the fault table in its stated end, and no other session notices."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from tests.faults.conftest import Scene
from tests.faults.server_process import ServerProcess, processes_of
from tests.faults.watcher import Refused, Watcher

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    ("words", "code", "number"),
    [("crash=9", None, "SIGKILL"), ("crash=11", None, "SIGSEGV"), ("exit=3", 3, None)],
    ids=["killed", "segfault", "left"],
)
async def test_a_child_that_dies_in_a_turn_gives_one_result_and_is_resumed_f01(scene: Scene, words, code, number):
    session = await scene.session()
    await scene.watcher.turn(session, f"deltas=3 blocks=1 {words} blocks=1")
    (end,) = scene.seen(session).results()
    assert (end["subtype"], end["code"]) == ("error_during_execution", code)
    assert number is None or str(end["signal"]) in (number, str(int(getattr(signal, number))))
    assert end["stderr"].strip() in ("going down", "leaving")
    await scene.watcher.turn(session, "blocks=1")
    assert [one["resumed"] for one in scene.seen(session).of_kind("started")] == [False, True]
    assert scene.seen(session).results()[-1]["subtype"] == "success"


async def test_all_that_a_child_wrote_before_it_died_is_on_record_f42(scene: Scene):
    session = await scene.session()
    await scene.watcher.turn(session, "flood=3000 exit=0")
    seen = scene.seen(session)
    await scene.watcher.until(lambda: seen.state == "hibernated")
    assert sum(data.get("type") == "novelty" for data in seen.of_kind("frame")) == 3000


async def test_three_crashes_in_a_minute_stop_the_trying_f02(scene: Scene):
    session = await scene.session()
    for _ in range(3):
        await scene.watcher.turn(session, "crash=9")
    with pytest.raises(Refused) as refused:
        await scene.watcher.command("resume", session=session)
    assert refused.value.code == "crashing"


async def test_a_message_to_a_child_that_has_just_died_reaches_the_next_one_f08(scene: Scene):
    session = await scene.session()
    await scene.watcher.turn(session, "blocks=1")
    await scene.watcher.until(lambda: scene.seen(session).state == "idle")
    (child,) = [pid for pid in processes_of(scene.server.diaries) if session in _command_line(pid)][-1:]
    os.kill(child, signal.SIGKILL)
    await scene.watcher.until(lambda: scene.seen(session).state == "hibernated")
    await scene.watcher.turn(session, "blocks=1")
    assert [end["subtype"] for end in scene.seen(session).results()] == ["success", "success"]


async def test_noise_on_stderr_is_drained_and_takes_no_memory_f10(scene: Scene):
    session = await scene.session()
    before = _resident(scene.server.pid)
    await scene.watcher.turn(session, "stderr=20000 blocks=1")
    assert scene.seen(session).results()[-1]["subtype"] == "success"
    assert _resident(scene.server.pid) - before < 16 * 1024 * 1024


async def test_a_flood_of_lines_arrives_whole_f11_f39(scene: Scene):
    session = await scene.session()
    await scene.watcher.turn(session, "flood=5000 blocks=1")
    novel = [data["number"] for data in scene.seen(session).of_kind("frame") if data["type"] == "novelty"]
    assert novel == list(range(5000))


async def test_an_interrupt_at_the_very_start_of_a_turn_is_not_lost_f41(scene: Scene):
    session = await scene.session()
    sent = await scene.watcher.command("send", session=session, text="silent=1")
    await scene.watcher.until(lambda: scene.seen(session).of_kind("handed"))
    await scene.watcher.command("interrupt", session=session)
    await scene.watcher.until(lambda: sent["uuid"] in scene.seen(session).over)
    assert scene.seen(session).results()[-1]["subtype"] == "error_during_execution"


async def test_a_child_that_leaves_while_it_starts_is_an_error_with_its_words_f02(tmp_path: Path):
    async with ServerProcess(tmp_path, "--at-start", "die") as server:
        async with Watcher("client", server.url, server.token) as watcher:
            with pytest.raises(Refused, match="this CLI does not like to start"):
                await watcher.start(server.work)
        assert len(list(server.diaries.glob("*.diary"))) == 1


@pytest.mark.campaign
async def test_children_that_do_not_want_to_go_are_gone_in_time_f05_f06_f07_f09(scene: Scene):
    sessions = {words: await scene.session() for words in ("stubborn=1", "mute=1", "deaf=1", "stray=1 silent=1")}
    for words, session in sessions.items():
        await scene.watcher.command("send", session=session, text=words)
        seen = scene.seen(session)
        await scene.watcher.until(lambda seen=seen: seen.state == "running")
    async with asyncio.timeout(25):
        await asyncio.gather(*(scene.watcher.command("stop", session=session) for session in sessions.values()))
    left = [
        pid for pid in processes_of(scene.server.diaries) if any(s in _command_line(pid) for s in sessions.values())
    ]
    assert left == []
    for seen in map(scene.seen, sessions.values()):
        await scene.watcher.until(lambda seen=seen: len(seen.results()) == 1)


@pytest.mark.campaign
async def test_a_child_that_hangs_while_it_starts_is_killed_after_a_minute_f03(tmp_path: Path):
    async with ServerProcess(tmp_path, "--at-start", "hang") as server:
        async with Watcher("client", server.url, server.token) as watcher:
            watcher.patience = 90
            with pytest.raises(Refused) as refused:
                await watcher.start(server.work)
        assert refused.value.code == "not_started"
        assert await server.orphans() == []


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def _resident(pid: int) -> int:
    fields = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in fields if line.startswith("VmRSS:"))
