"""Exhausted or occupied resources: the reason is reported, and running sessions continue."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.faults.server_process import ServerProcess, free_port
from tests.faults.watcher import Refused, Watcher

HANDLES = 64
pytestmark = pytest.mark.campaign


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="needs prlimit")
async def test_sessions_continue_when_file_handles_run_out_f33(tmp_path: Path):
    server = ServerProcess(tmp_path, wrapper=("prlimit", f"--nofile={HANDLES}"))
    async with server, Watcher("client", server.url, server.token) as watcher:
        first = await watcher.start(server.work)
        with pytest.raises(Refused) as refused:
            await _start_many(watcher, server.work)
        assert refused.value.code == "not_started"
        await watcher.turn(first, "ask=1 blocks=1")
        assert watcher.sessions[first].results()[-1]["subtype"] == "success"


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
async def test_sessions_continue_when_processes_run_out_f33(tmp_path: Path):
    refuse = ("-e", "inject=vfork:error=EAGAIN:when=4+", "-e", "inject=clone:error=EAGAIN")
    inject = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=vfork,clone", *refuse)
    server = ServerProcess(tmp_path, wrapper=inject)
    async with server, Watcher("client", server.url, server.token) as watcher:
        first = await watcher.start(server.work)
        with pytest.raises(Refused, match="Resource temporarily unavailable") as refused:
            await _start_many(watcher, server.work)
        assert refused.value.code == "not_started"
        await watcher.turn(first, "ask=1 blocks=1")
        assert watcher.sessions[first].results()[-1]["subtype"] == "success"


async def _start_many(watcher: Watcher, cwd: Path) -> None:
    for _ in range(HANDLES):
        await watcher.start(cwd)


async def test_second_server_names_the_process_using_the_folder_f35(tmp_path: Path):
    async with ServerProcess(tmp_path) as server:
        second = ServerProcess(tmp_path)
        with pytest.raises(RuntimeError, match=f"in use by process {server.pid}"):
            await second.start()
        assert await server.answers()
        other = ServerProcess(tmp_path / "other")
        other.port = other.options["port"] = server.port
        with pytest.raises(RuntimeError, match=f"port {server.port} is in use"):
            await other.start()
    assert free_port()


async def test_lock_of_a_killed_server_is_released_f35(tmp_path: Path):
    server = ServerProcess(tmp_path)
    await server.start()
    await server.kill()
    async with server:
        assert await server.answers()
