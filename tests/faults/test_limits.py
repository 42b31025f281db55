"""Where the machine has no more to give, or another has it already: the reason is told, and the rest lives on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.faults.server_process import ServerProcess, free_port
from tests.faults.watcher import Refused, Watcher

HANDLES = 64
pytestmark = pytest.mark.campaign


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="there is no prlimit")
async def test_without_handles_a_new_session_is_refused_and_the_old_ones_live_f33(tmp_path: Path):
    server = ServerProcess(tmp_path, wrapper=("prlimit", f"--nofile={HANDLES}"))
    async with server, Watcher("client", server.url, server.token) as watcher:
        first = await watcher.start(server.work)
        with pytest.raises(Refused) as refused:
            await _start_many(watcher, server.work)
        assert refused.value.code == "not_started"
        await watcher.turn(first, "ask=1 blocks=1")
        assert watcher.sessions[first].results()[-1]["subtype"] == "success"


@pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace to make the kernel refuse with")
async def test_where_no_more_processes_may_be_a_new_session_is_refused_and_the_old_ones_live_f33(tmp_path: Path):
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


async def test_a_second_server_on_the_same_folder_says_who_has_it_f35(tmp_path: Path):
    async with ServerProcess(tmp_path) as server:
        second = ServerProcess(tmp_path)
        with pytest.raises(RuntimeError, match=f"in use by process {server.pid}"):
            await second.start()
        assert await server.answers()
        other = ServerProcess(tmp_path / "other")
        other.port = other.told["port"] = server.port
        with pytest.raises(RuntimeError, match=f"port {server.port} is in use"):
            await other.start()
    assert free_port()


async def test_the_lock_of_a_server_that_was_killed_holds_nobody_up_f35(tmp_path: Path):
    server = ServerProcess(tmp_path)
    await server.start()
    await server.kill()
    async with server:
        assert await server.answers()
