"""Prewarmed processes: which sessions get one, how many there are, and when they end."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from collections.abc import Iterable
from pathlib import Path

import pytest

from handrail.bridge.configuration import Configuration
from handrail.bridge.server import Bridge
from handrail.bridge.session.prewarmed import LEAST_MEMORY, PrewarmedProcesses
from handrail.client.options import Options
from handrail.model_access.choice import CliChoice
from handrail.transport.guardian import children_of
from handrail.transport.start_message import AWAIT_START
from tests.bridge.cluster_stage import cluster_stage
from tests.bridge.stage import AGENT, Refused, Stage, stage


async def waiting(on: Stage) -> list[int]:
    """The processes that wait, once all that are missing have been started."""
    await on.bridge.sessions.prewarmed.filled()
    return on.bridge.sessions.prewarmed.pids


async def pid_of(on: Stage, session: str) -> int | None:
    return (await on.host(session)).session.pid


def running(pids: Iterable[int]) -> list[int]:
    return [pid for pid in pids if os.path.exists(f"/proc/{pid}")]


async def kill(pid: int) -> None:
    """Kill a process and wait for its exit."""
    exited = asyncio.Event()
    descriptor = os.pidfd_open(pid)
    asyncio.get_running_loop().add_reader(descriptor, exited.set)
    os.kill(pid, signal.SIGKILL)
    await exited.wait()
    asyncio.get_running_loop().remove_reader(descriptor)
    os.close(descriptor)


def waiting_children() -> list[int]:
    """The children of this process that were started to wait."""

    def command(pid: int) -> bytes:
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return b""

    return [pid for pid in children_of(os.getpid()) if AWAIT_START.encode() in command(pid)]


# Which sessions get one


async def test_sessions_of_any_folder_run_in_waiting_processes(tmp_path: Path):
    async with stage(tmp_path, prewarm=1) as on:
        for name in ("one", "two", "three"):
            [pid] = await waiting(on)
            session = await on.start(cwd=tmp_path / name, mode="plan")
            assert await pid_of(on, session) == pid
            async with on.viewer(session) as viewer:
                await on.do("send", session=session, text="hello")
                await viewer.until_result()
                [init] = [line for line in viewer.frames("system") if line["subtype"] == "init"]
                assert (init["cwd"], init["session_id"]) == (str(tmp_path / name), session)
                assert init["permissionMode"] == "plan"


async def test_settings_that_change_while_a_process_waits_are_in_force(tmp_path: Path, own_home: Path):
    async with stage(tmp_path, prewarm=1) as on:
        [pid] = await waiting(on)
        (own_home / ".claude").mkdir()
        (own_home / ".claude" / "settings.json").write_text('{"outputStyle": "Explanatory"}')
        session = await on.start()
        assert await pid_of(on, session) == pid
        async with on.viewer(session) as viewer:
            await on.do("send", session=session, text="hello")
            await viewer.until_result()
            [init] = [line for line in viewer.frames("system") if line["subtype"] == "init"]
            assert init["output_style"] == "Explanatory"


async def test_hooks_run_once_a_session_begins_and_not_before(tmp_path: Path, own_home: Path):
    log = own_home / "log"
    hook = [{"hooks": [{"type": "command", "command": f"echo started >> {log}"}]}]
    (own_home / ".claude").mkdir()
    (own_home / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"SessionStart": hook}}))
    async with stage(tmp_path, prewarm=2) as on:
        await waiting(on)
        session = await on.start(prompt="hello")
        async with on.viewer(session) as viewer:
            await viewer.until_result()
    # All processes have exited: the one with the session, and those that waited in vain.
    assert log.read_text() == "started\n"


async def test_resumed_session_runs_in_a_waiting_process(tmp_path: Path):
    async with stage(tmp_path, prewarm=1) as on:
        session = await on.start(prompt="hello")
        async with on.viewer(session) as viewer:
            await viewer.until_result()
            await on.do("stop", session=session)
            [pid] = await waiting(on)
            await on.do("send", session=session, text="again")
            await viewer.until_result(2)
            assert await pid_of(on, session) == pid
            assert viewer.of("started")[-1]["resumed"]


async def test_process_with_another_environment_is_ended_and_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async with stage(tmp_path, prewarm=1) as on:
        [old] = await waiting(on)
        monkeypatch.setenv("ANTHROPIC_MODEL", "another")
        assert await pid_of(on, await on.start()) != old
        [new] = await waiting(on)
        assert running([old, new]) == [new]
        assert await pid_of(on, await on.start()) == new


async def test_process_of_a_replaced_executable_is_ended_and_not_used(tmp_path: Path):
    agent = tmp_path / "handrail-agent"
    shutil.copy(AGENT, agent)
    async with stage(tmp_path, str(agent), prewarm=1) as on:
        [old] = await waiting(on)
        shutil.copy(AGENT, tmp_path / "newer")
        (tmp_path / "newer").replace(agent)
        assert await pid_of(on, await on.start()) != old
        assert running([old, *await waiting(on)]) == on.bridge.sessions.prewarmed.pids


async def test_missing_folder_is_refused_as_without_prewarming(tmp_path: Path):
    messages: list[str] = []
    for prewarm in (0, 1):
        async with stage(tmp_path, data=tmp_path / f"data{prewarm}", prewarm=prewarm) as on:
            session = await on.start(cwd=tmp_path / "gone")
            await on.do("stop", session=session)
            (tmp_path / "gone").rmdir()
            await waiting(on)
            with pytest.raises(Refused) as refused:
                await on.do("resume", session=session)
            messages.append(str(refused.value).replace(session, "ID"))
    assert messages[0] == messages[1]


# How many there are


async def test_no_process_waits_by_default(tmp_path: Path):
    async with stage(tmp_path) as on:
        await on.start()
        assert await waiting(on) == []
        assert waiting_children() == []


async def test_number_of_waiting_processes_is_bounded(tmp_path: Path):
    async with stage(tmp_path, prewarm=2) as on:
        first = await waiting(on)
        sessions = await asyncio.gather(*(on.start(cwd=tmp_path / name) for name in "abcd"))
        used = [await pid_of(on, session) for session in sessions]
        assert len({*used}) == 4  # no process has two sessions
        assert {*first} <= {*used}
        assert len(await waiting(on)) == 2
        assert sorted([*on.bridge.sessions.prewarmed.pids, *first]) == sorted(waiting_children())


async def test_no_process_of_another_cli_waits(tmp_path: Path):
    configuration = Configuration(
        cli=CliChoice.fixed(AGENT, "claude"), data=tmp_path / "data", roots=(tmp_path,), prewarm=1
    )
    async with Bridge(configuration) as bridge:
        await bridge.sessions.prewarmed.filled()
        assert bridge.sessions.prewarmed.pids == []


async def test_only_machines_that_run_sessions_prewarm(tmp_path: Path):
    async with cluster_stage(tmp_path, prewarm=1) as on:
        for bridge in on.nodes.values():
            await bridge.sessions.prewarmed.filled()
        assert [len(bridge.sessions.prewarmed.pids) for bridge in on.nodes.values()] == [0, 0, 1, 1]


async def test_dead_process_is_replaced_after_the_next_start(tmp_path: Path):
    async with stage(tmp_path, prewarm=1) as on:
        [dead] = await waiting(on)
        await kill(dead)
        await on.sweep()
        assert [pid for pid in await waiting(on) if pid != dead] == []
        assert await pid_of(on, await on.start()) != dead
        [new] = await waiting(on)
        assert running([dead, new]) == [new]


# When they end


async def test_no_process_is_left_when_the_server_stops(tmp_path: Path):
    async with stage(tmp_path, prewarm=3) as on:
        pids = await waiting(on)
        assert running(pids) == pids
        on.bridge.sessions.prewarmed.refill()
    assert running(pids) == []
    assert waiting_children() == []


async def test_server_that_stops_at_once_leaves_no_process(tmp_path: Path):
    async with stage(tmp_path, prewarm=3):
        pass
    assert waiting_children() == []


async def test_unused_processes_end_after_the_time_of_idle_ones(tmp_path: Path):
    async with stage(tmp_path, prewarm=2) as on:
        pids = await waiting(on)
        on.clock.now += 59.0
        await on.sweep()
        assert await waiting(on) == pids
        on.clock.now += 1.0
        await on.sweep()
        assert (await waiting(on), running(pids)) == ([], [])
        await on.start()
        assert len(await waiting(on)) == 2


async def test_processes_end_when_memory_is_short():
    free = LEAST_MEMORY
    pool = PrewarmedProcesses(1, lambda: Options(cli_path=AGENT), free=lambda: free)
    pool.refill()
    await pool.filled()
    pids = pool.pids
    assert running(pids) == pids
    free = LEAST_MEMORY - 1
    await pool.sweep()
    assert (pool.pids, running(pids)) == ([], [])
    pool.refill()
    await pool.filled()
    assert pool.pids == []
    await pool.close()


async def test_unknown_memory_is_not_short():
    pool = PrewarmedProcesses(1, lambda: Options(cli_path=AGENT), free=lambda: 0)
    pool.refill()
    await pool.filled()
    assert len(pool.pids) == 1
    await pool.close()


async def test_process_that_cannot_start_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    broken = tmp_path / "handrail-agent"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))  # without setpriv, which would start and then fail
    pool = PrewarmedProcesses(2, lambda: Options(cli_path=broken))
    pool.refill()
    await pool.filled()
    assert (pool.pids, len(caplog.records)) == ([], 1)
    assert "no process was prewarmed" in caplog.text
    await pool.close()


async def test_closed_pool_starts_no_process():
    pool = PrewarmedProcesses(1, lambda: Options(cli_path=AGENT))
    await pool.close()
    pool.refill()
    await pool.filled()
    assert pool.pids == []


async def test_missing_executable_is_not_prewarmed(tmp_path: Path):
    pool = PrewarmedProcesses(1, lambda: Options(cli_path=tmp_path / "none"))
    pool.refill()
    await pool.filled()
    assert pool.pids == []
    await pool.close()
