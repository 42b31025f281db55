"""What a dead process leaves behind is ended, and nothing else."""

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

# Answers each line, so that a test can see that it lives.
LIVING = HOLD + "hold(sys.argv[1])\nfor line in sys.stdin: print(line, end='', flush=True)"
Process = asyncio.subprocess.Process
PIPE = asyncio.subprocess.PIPE


@asynccontextmanager
async def marked(line: Lifeline, mark: str) -> AsyncIterator[Process]:
    """A process that carries a mark, in a session of its own."""
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


async def test_a_guardian_waits_for_its_pipe_ends_what_it_was_told_of_and_exits(tmp_path: Path):
    mark, spared = uuid4().hex, uuid4().hex
    async with (
        Lifeline(tmp_path / "doomed") as doomed,
        Lifeline(tmp_path / "spared") as other,
        marked(doomed, mark) as child,
        marked(other, spared) as bystander,
    ):
        await doomed.held_by(1)
        await other.held_by(1)
        command = [sys.executable, "-I", "-S", guardian.__file__]
        watcher = await asyncio.create_subprocess_exec(*command, stdin=PIPE)
        assert watcher.stdin
        watcher.stdin.write(f"+{mark} {child.pid}\n+{spared} {bystander.pid}\n-{spared}\n-never told of\n".encode())
        await watcher.stdin.drain()
        assert await lives(child)
        watcher.stdin.close()
        await doomed.let_go()
        assert await watcher.wait() == 0
        assert await lives(bystander)


async def test_a_folder_goes_with_its_child_and_one_that_was_forgotten_stays(tmp_path: Path):
    doomed, spared = tmp_path / "with a space", tmp_path / "spared"
    for folder in (doomed, spared):
        folder.mkdir()
        (folder / "secret.json").write_text("{}")
    watcher = await asyncio.create_subprocess_exec(sys.executable, "-I", "-S", guardian.__file__, stdin=PIPE)
    lines = f"+{uuid4().hex} 1 {doomed}\n+forgotten 1 {spared}\n-forgotten\n"
    await watcher.communicate(lines.encode())
    assert not doomed.exists()
    assert spared.exists()


async def test_a_process_id_that_now_belongs_to_somebody_else_is_spared(tmp_path: Path):
    async with Lifeline(tmp_path / "line") as line, marked(line, uuid4().hex) as bystander:
        await line.held_by(1)
        watcher = await asyncio.create_subprocess_exec(sys.executable, "-I", "-S", guardian.__file__, stdin=PIPE)
        await watcher.communicate(f"+{uuid4().hex} {bystander.pid}\n".encode())
        assert watcher.returncode == 0
        assert await lives(bystander)


async def test_everything_with_a_mark_is_ended_and_nothing_without(tmp_path: Path):
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


def test_where_nothing_carries_the_mark_nothing_is_found():
    assert end_marked(uuid4().hex) == 0


def test_children_can_be_started_where_the_guardian_cannot(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    before = len(os.listdir("/proc/self/fd"))
    watcher = Guardian()
    watcher.watch("mark", 1)
    watcher.forget("mark")
    assert len(os.listdir("/proc/self/fd")) == before
