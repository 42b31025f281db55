"""handrail.agent.run_program: output, errors, limits, and that nothing is left running."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from handrail.agent.run_program import Finished, ProgramFailed, run_program
from tests.agent.processes import FOREVER, LIMIT

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


async def run(folder: Path, command: str, *, time_limit: float = LIMIT, most_output: int = 1000) -> Finished:
    argv = ("/bin/sh", "-c", command)
    return await run_program(
        argv, cwd=str(folder), environment=ENVIRONMENT, time_limit=time_limit, most_output=most_output
    )


async def exited(pid: int) -> None:
    """Wait for the end of a process that is not a child."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    done = asyncio.Event()
    asyncio.get_running_loop().add_reader(descriptor, done.set)
    try:
        async with asyncio.timeout(LIMIT):
            await done.wait()
    finally:
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)


async def test_output_errors_and_code_are_returned(tmp_path: Path):
    assert await run(tmp_path, "pwd; echo no >&2; exit 3") == Finished(3, f"{tmp_path}\n".encode(), b"no\n")


async def test_code_is_negative_after_a_signal(tmp_path: Path):
    assert (await run(tmp_path, "kill -TERM $$")).code == -15


async def test_long_output_is_an_error_and_long_errors_are_cut(tmp_path: Path):
    with pytest.raises(ProgramFailed, match="printed more than 1,000 bytes"):
        await run(tmp_path, "yes | head -c 1001")
    assert len((await run(tmp_path, "yes | head -c 1000")).output) == 1000
    assert len((await run(tmp_path, "yes | head -c 1000000 >&2")).errors) == 64 * 1024


@pytest.mark.parametrize("argv", [("/nowhere/program",), (".",)])
async def test_program_that_cannot_be_started_is_an_error(tmp_path: Path, argv: tuple[str, ...]):
    with pytest.raises(ProgramFailed, match=f"cannot be started in {tmp_path}"):
        await run_program(argv, cwd=str(tmp_path), environment=ENVIRONMENT, time_limit=LIMIT)


@pytest.mark.parametrize("end", ["wait", "exit 0"])
async def test_time_out_kills_the_children_too(tmp_path: Path, end: str):
    with pytest.raises(ProgramFailed, match=r"did not end within 0\.3 seconds"):
        await run(tmp_path, f"{FOREVER} & echo $! > pid; {end}", time_limit=0.3)
    await exited(int((tmp_path / "pid").read_text()))


async def test_cancellation_kills_the_children_too(tmp_path: Path):
    os.mkfifo(tmp_path / "pid")
    running = asyncio.create_task(run(tmp_path, f"{FOREVER} & echo $! > pid; wait"))
    pid = int(await asyncio.to_thread((tmp_path / "pid").read_text))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await exited(pid)
