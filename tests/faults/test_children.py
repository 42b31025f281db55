"""Failing child processes: each ends as stated in the fault table and affects no other session."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.conftest import Scene
from tests.faults.server_process import ServerProcess, processes_of
from tests.faults.watcher import Refused, Watcher

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    ("words", "code", "number"),
    [("crash=9", None, "SIGKILL"), ("crash=11", None, "SIGSEGV"), ("exit=3", 3, None)],
    ids=["killed", "segfault", "exited"],
)
async def test_child_that_dies_in_a_turn_gives_one_result_and_is_resumed_f01_f34(scene: Scene, words, code, number):
    session = await scene.session()
    await scene.watcher.turn(session, f"deltas=3 blocks=1 {words} blocks=1")
    (end,) = scene.seen(session).results()
    assert (end["subtype"], end["code"]) == ("error_during_execution", code)
    assert number is None or str(end["signal"]) in (number, str(int(getattr(signal, number))))
    assert end["stderr"].strip() in ("going down", "leaving")
    await scene.watcher.turn(session, "blocks=1")
    assert [one["resumed"] for one in scene.seen(session).of_kind("started")] == [False, True]
    assert [f"--resume={session}" in line or "--resume" in line for line in _starts(scene, session)] == [False, True]
    assert scene.seen(session).results()[-1]["subtype"] == "success"


async def test_output_before_a_crash_is_persisted_f42(scene: Scene):
    session = await scene.session()
    await scene.watcher.turn(session, "flood=3000 exit=0")
    seen = scene.seen(session)
    await scene.watcher.until(lambda: seen.state == "hibernated")
    assert sum(data.get("type") == "novelty" for data in seen.of_kind("frame")) == 3000


async def test_three_crashes_in_a_minute_stop_restarts_f02(scene: Scene):
    session = await scene.session()
    for _ in range(3):
        await scene.watcher.turn(session, "crash=9")
    with pytest.raises(Refused) as refused:
        await scene.watcher.command("resume", session=session)
    assert refused.value.code == "crashing"


async def test_message_to_a_dead_child_reaches_the_next_one_f08(scene: Scene):
    session = await scene.session()
    await scene.watcher.turn(session, "blocks=1")
    await scene.watcher.until(lambda: scene.seen(session).state == "idle")
    (child,) = _children_of(scene, session)
    os.kill(child, signal.SIGKILL)
    await scene.watcher.until(lambda: scene.seen(session).state == "hibernated")
    await scene.watcher.turn(session, "blocks=1")
    assert [end["subtype"] for end in scene.seen(session).results()] == ["success", "success"]


async def test_message_to_a_closed_stdin_is_reported_as_doubtful_f08(scene: Scene):
    session = await scene.session()
    await _begin(scene, session, "shut=1")
    (child,) = _children_of(scene, session)
    await _until(lambda: not os.path.exists(f"/proc/{child}/fd/0"))
    sent = await scene.watcher.command("send", session=session, text="blocks=1")
    await scene.watcher.until(lambda: scene.seen(session).of_kind("doubted") == [{"uuid": sent["uuid"]}])
    stopping = asyncio.create_task(scene.watcher.command("stop", session=session))
    assert await scene.server.pass_time(stopping.done, step=0.5, pause=0.1) < 16
    await stopping


@pytest.mark.parametrize("kilobytes", [20_000, pytest.param(1_000_000, marks=pytest.mark.campaign)])
async def test_stderr_is_drained_without_using_memory_f10(scene: Scene, kilobytes: int):
    session = await scene.session()
    await scene.watcher.turn(session, "stderr=2000 blocks=1")
    before = scene.server.memory()
    await scene.watcher.turn(session, f"stderr={kilobytes} blocks=1")
    assert scene.seen(session).results()[-1]["subtype"] == "success"
    assert scene.server.memory() - before < 2 * 1024 * 1024


async def test_flood_of_unknown_lines_is_delivered_completely_f11_f39(scene: Scene):
    session = await scene.session()
    await scene.watcher.turn(session, "flood=5000 blocks=1")
    novel = [data["number"] for data in scene.seen(session).of_kind("frame") if data["type"] == "novelty"]
    assert novel == list(range(5000))


async def test_flood_of_deltas_is_merged_into_few_frames_f11(scene: Scene):
    session = await scene.session()
    await scene.watcher.turn(session, "wide=4 deltas=2000 blocks=1")
    before, frames = scene.server.memory(), scene.watcher.frames
    await scene.watcher.turn(session, "wide=4 deltas=30000 blocks=1")
    assert scene.watcher.frames - frames < 10_000
    assert scene.server.memory() - before < 16 * 1024 * 1024


async def test_interrupt_at_the_start_of_a_turn_is_not_lost_f41(scene: Scene):
    session = await scene.session()
    sent = await scene.watcher.command("send", session=session, text="silent=1")
    await scene.watcher.until(lambda: scene.seen(session).of_kind("handed"))
    await scene.watcher.command("interrupt", session=session)
    await scene.watcher.until(lambda: sent["uuid"] in scene.seen(session).over)
    assert scene.seen(session).results()[-1]["subtype"] == "error_during_execution"


async def test_exit_at_startup_is_reported_with_the_error_output_f02(tmp_path: Path):
    async with ServerProcess(tmp_path, "--at-start", "die") as server:
        async with Watcher("client", server.url, server.token) as watcher:
            with pytest.raises(Refused, match="this CLI refuses to start"):
                await watcher.start(server.work)
        assert len(list(server.diaries.glob("*.diary"))) == 1


async def test_request_to_a_dying_child_is_refused_at_once_f01(scene: Scene):
    session = await scene.session()
    await _begin(scene, session, "deaf=1")
    (child,) = _children_of(scene, session)
    await _until_stopped(child)
    asking = asyncio.create_task(scene.watcher.command("context_usage", session=session))
    await scene.watcher.command("rename", session=session, title="the request has arrived")
    os.kill(child, signal.SIGKILL)
    with pytest.raises(Refused) as refused:
        await asking
    assert refused.value.code == "cli"
    await scene.watcher.until(lambda: len(scene.seen(session).results()) == 1)


async def test_child_that_hangs_at_startup_is_killed_after_a_minute_f03(tmp_path: Path):
    async with ServerProcess(tmp_path, "--at-start", "hang") as server:
        async with Watcher("client", server.url, server.token) as watcher:
            starting = asyncio.create_task(watcher.start(server.work))
            await _until(lambda: list(server.diaries.glob("*.diary")))
            await server.move(steady=58)
            assert await server.answers()
            assert not starting.done()
            await server.pass_time(starting.done)
            with pytest.raises(Refused, match="check that it has a `name`") as refused:
                await starting
        assert refused.value.code == "not_started"
        assert await server.orphans() == []


async def test_silent_child_is_reported_after_two_minutes_but_not_ended_f04_f12(scene: Scene):
    session = await scene.session()
    seen = scene.seen(session)
    await _begin(scene, session, "silent=1")
    children = _children_of(scene, session)
    await scene.server.pass_time(lambda: seen.of_kind("silent"), step=10)
    await scene.server.move(steady=600)
    await scene.watcher.command("rename", session=session, title="it still answers")
    assert (len(seen.of_kind("silent")), seen.state, seen.results()) == (1, "running", [])
    assert _children_of(scene, session) == children
    await scene.watcher.command("interrupt", session=session)
    await scene.watcher.until(seen.results)
    assert seen.results()[0]["errors"] == ["interrupted"]


@pytest.mark.parametrize("words", ["stubborn=1", "deaf=1", "stray=1 silent=1"])
async def test_stubborn_child_is_ended_within_sixteen_seconds_f05_f06_f09(scene: Scene, words: str):
    session = await scene.session()
    await _begin(scene, session, words)
    stopping = asyncio.create_task(scene.watcher.command("stop", session=session))
    assert await scene.server.pass_time(stopping.done, step=0.5, pause=0.1) < 16
    await stopping
    assert _children_of(scene, session) == []
    await scene.watcher.until(lambda: scene.seen(session).results())
    (end,) = scene.seen(session).results()
    assert end["subtype"] == "error_during_execution"
    await _until(lambda: not _strays(scene))


async def test_child_that_closed_its_stdout_is_killed_after_two_seconds_f07(scene: Scene):
    session = await scene.session()
    await _begin(scene, session, "mute=1")
    assert await scene.server.pass_time(lambda: scene.seen(session).results(), pause=0.1) < 4
    (end,) = scene.seen(session).results()
    assert (end["subtype"], end["signal"]) == ("error_during_execution", "SIGKILL")
    assert _children_of(scene, session) == []


async def test_queue_of_a_child_that_does_not_read_is_limited_f09(scene: Scene):
    session = await scene.session()
    await _begin(scene, session, "deaf=1")
    accepted = [
        (await scene.watcher.command("send", session=session, text="x" * 400_000))["uuid"] for _ in range(4)
    ]  # one is being written, three are queued
    with pytest.raises(Refused) as refused:
        await scene.watcher.command("send", session=session, text="x")
    assert refused.value.code == "busy"
    await scene.watcher.command("stop", session=await scene.session())  # other sessions are not blocked
    stopping = asyncio.create_task(scene.watcher.command("stop", session=session))
    assert await scene.server.pass_time(stopping.done, step=0.5, pause=0.1) < 16
    await stopping
    await scene.watcher.until(lambda: scene.seen(session).state == "hibernated")
    assert _children_of(scene, session) == []
    await scene.watcher.command("resume", session=session)
    # Queued messages reach the next process.
    await scene.watcher.until(lambda: set(accepted[1:]) <= scene.seen(session).over)
    await scene.watcher.until(lambda: scene.seen(session).state == "idle")


async def _begin(scene: Scene, session: str, words: str) -> None:
    """Send a prompt and wait until the child has started it."""
    await scene.watcher.command("send", session=session, text=words)
    begun = lambda: any(data.get("isReplay") for data in scene.seen(session).of_kind("frame"))  # noqa: E731
    await scene.watcher.until(begun)


async def _until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 - no event to wait for
            await asyncio.sleep(0.01)


async def _until_stopped(pid: int) -> None:
    await _until(lambda: ") T " in Path(f"/proc/{pid}/stat").read_text())


def _children_of(scene: Scene, session: str) -> list[int]:
    return [pid for pid in processes_of(scene.server.diaries) if session in _command_line(pid)]


def _strays(scene: Scene) -> list[int]:
    return [pid for pid in processes_of(scene.server.diaries) if "sleep" in _command_line(pid)]


def _starts(scene: Scene, session: str) -> list[list[str]]:
    """The arguments of each process of a session."""
    diaries = sorted(scene.server.diaries.glob("*.diary"))
    first = [json.loads(path.read_text().partition("\n")[0]) for path in diaries]
    return [line["arguments"] for line in first if line["begins"] == session]


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
