"""The guardian kills the children of a dead process, and nothing else."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from handrail.transport import guardian
from handrail.transport.guardian import MARK, Guardian, end_marked
from tests.transport.lifeline import HOLD, Lifeline

# Answers each line, so that a test can check that it runs.
LIVING = HOLD + "hold(sys.argv[1])\nfor line in sys.stdin: print(line, end='', flush=True)"
Process = asyncio.subprocess.Process
PIPE = asyncio.subprocess.PIPE
GUARDIAN = (sys.executable, "-I", "-S", guardian.__file__, guardian.PROCESSES)


@asynccontextmanager
async def marked(line: Lifeline, mark: str) -> AsyncIterator[Process]:
    """A marked process in a new session."""
    command = [sys.executable, "-I", "-S", "-c", LIVING, line.path]
    process = await asyncio.create_subprocess_exec(
        *command, env={MARK: mark}, stdin=PIPE, stdout=PIPE, start_new_session=True
    )
    try:
        async with asyncio.timeout(60):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def lives(process: Process) -> bool:
    assert process.stdin
    assert process.stdout
    process.stdin.write(b"alive?\n")
    return await process.stdout.readline() == b"alive?\n"


async def test_guardian_kills_registered_children_when_the_pipe_closes(tmp_path: Path):
    mark, spared = uuid4().hex, uuid4().hex
    async with (
        Lifeline(tmp_path / "doomed") as doomed,
        Lifeline(tmp_path / "spared") as other,
        marked(doomed, mark) as child,
        marked(other, spared) as bystander,
    ):
        await doomed.held_by(1)
        await other.held_by(1)
        watcher = await asyncio.create_subprocess_exec(*GUARDIAN, stdin=PIPE)
        assert watcher.stdin
        watcher.stdin.write(f"+{mark} {child.pid}\n+{spared} {bystander.pid}\n-{spared}\n-never told of\n".encode())
        await watcher.stdin.drain()
        assert await lives(child)
        watcher.stdin.close()
        await doomed.let_go()
        assert await watcher.wait() == 0
        assert await lives(bystander)


async def test_folder_is_removed_with_its_child_unless_forgotten(tmp_path: Path):
    doomed, spared = tmp_path / "with a space", tmp_path / "spared"
    for folder in (doomed, spared):
        folder.mkdir()
        (folder / "secret.json").write_text("{}")
    watcher = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", guardian.__file__, guardian.PROCESSES, stdin=PIPE
    )
    lines = f"+{uuid4().hex} 1 {doomed}\n+forgotten 1 {spared}\n-forgotten\n"
    await watcher.communicate(lines.encode())
    assert not doomed.exists()
    assert spared.exists()


async def test_reused_process_id_is_spared(tmp_path: Path):
    async with Lifeline(tmp_path / "line") as line, marked(line, uuid4().hex) as bystander:
        await line.held_by(1)
        watcher = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", guardian.__file__, guardian.PROCESSES, stdin=PIPE
        )
        await watcher.communicate(f"+{uuid4().hex} {bystander.pid}\n".encode())
        assert watcher.returncode == 0
        assert await lives(bystander)


async def test_only_marked_processes_are_killed(tmp_path: Path):
    mark = uuid4().hex
    async with (
        Lifeline(tmp_path / "line") as line,
        Lifeline(tmp_path / "spared") as other,
        marked(line, mark),
        marked(line, mark),
        marked(other, f"{mark}0") as bystander,
    ):
        await line.held_by(2)
        await other.held_by(1)
        assert end_marked(mark) >= 2
        await line.let_go()
        assert await lives(bystander)


def test_unknown_mark_finds_nothing():
    assert end_marked(uuid4().hex) == 0


def test_children_start_even_if_the_guardian_cannot(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    before = len(os.listdir("/proc/self/fd"))
    watcher = Guardian()
    watcher.watch("mark", 1)
    watcher.forget("mark")
    assert len(os.listdir("/proc/self/fd")) == before


# Becomes a subreaper and leaves a grandchild without a mark.
LEAVING = """
import ctypes, os, subprocess, sys, time
from handrail.transport.guardian import Guardian
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
guardian = Guardian()
guardian.watch("NONE=1", os.getpid())
guardian.follow()
hold = "exec 9<>" + sys.argv[1] + "; exec sleep 1000"
subprocess.run(["/bin/sh", "-c", f"setsid env -i /bin/sh -c '{hold}' > /dev/null &"], check=True)
print("left", flush=True)
sys.stdin.readline()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")
async def test_followed_descendants_are_killed_without_a_mark(tmp_path: Path):
    reads, writes = os.pipe()
    try:
        leaving = LEAVING.replace("sys.argv[1]", repr(f"/proc/{os.getpid()}/fd/{writes}"))
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", leaving, stdin=PIPE, stdout=PIPE)
        assert process.stdout
        assert await process.stdout.readline() == b"left\n"
        found = guardian.descendants(process.pid)
        async with asyncio.timeout(60):
            while len(found) < 2:  # the guardian, and the process that was left
                await asyncio.sleep(0.01)
                found = guardian.descendants(process.pid)
            followed = guardian.Followed(process.pid)
            followed.look()
            process.kill()
            await process.wait()
            followed.end()
            os.close(writes)
            writes = -1
            assert await asyncio.to_thread(os.read, reads, 1) == b""
    finally:
        os.close(reads)
        if writes >= 0:
            os.close(writes)
