"""Descendants of a command end with the agent, however they hide and however the agent ends."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from handrail.agent.tools.process_tree import kill_marked, marks, new_mark, reap_orphans

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows processes in /proc")

AGENT = """
import asyncio, sys
from handrail.agent.tools.process_tree import end_all
from handrail.agent.tools.shell import Shell

async def run(command):
    shell = await Shell.start(command, cwd="/", environment={"PATH": "/usr/bin:/bin"}, sink=lambda data: None)
    await shell.wait()

async def main():
    await run(sys.argv[1])
    await run("sleep 2.5")  # the guardian looks once a second
    print("ran", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    end_all()

asyncio.run(main())
"""
HIDING = {
    "background": "sleep 1000 {keep} &",
    "no hangup": "nohup sleep 1000 {keep} >/dev/null &",
    "closed descriptors": "(setsid env -i /usr/bin/env sleep 1000 {keep} <&- >&- 2>&- &)",
    "own session": "setsid sleep 1000 {keep} &",
    "empty environment": "env -i /usr/bin/env sleep 1000 {keep} &",
    "both": "setsid env -i /usr/bin/env sleep 1000 {keep} &",
    "twice forked": "(setsid env -i /bin/bash -c 'setsid sleep 1000 & sleep 1000 &' {keep} &)",
}
"""Each keeps a copy of the pipe `{keep}`, so that the test sees when it has exited."""


@asynccontextmanager
async def agent(command: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, asyncio.StreamReader]]:
    """A process that runs a command as the agent does, and a stream that ends when all that it left has exited."""
    reads, writes = os.pipe()
    # Commands inherit no descriptor, so the pipe is opened by its path.
    kept = command.format(keep=f"9>/proc/{os.getpid()}/fd/{writes}")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", AGENT, kept, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    stream = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(reads, "rb")
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            assert await process.stdout.readline() == b"ran\n"
            os.close(writes)
            yield process, stream
            assert await stream.read() == b""
    finally:
        transport.close()
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.parametrize("how", HIDING)
async def test_hidden_processes_end_when_the_agent_exits(how: str):
    async with agent(HIDING[how]) as (process, _):
        assert process.stdin is not None
        process.stdin.close()


@pytest.mark.parametrize("how", HIDING)
async def test_hidden_processes_end_when_the_agent_is_killed(how: str):
    async with agent(HIDING[how]) as (process, _):
        process.send_signal(signal.SIGKILL)


async def test_hidden_processes_end_when_the_agent_is_terminated():
    async with agent(HIDING["twice forked"]) as (process, _):
        process.send_signal(signal.SIGTERM)


async def test_marked_processes_are_killed():
    mark = new_mark()
    process = await asyncio.create_subprocess_exec(
        "sleep", "1000", env={**os.environ, **marks(mark)}, start_new_session=True
    )
    kill_marked(mark)
    async with asyncio.timeout(10):
        assert await process.wait() == -9


async def test_unmarked_processes_are_left_alone():
    process = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE)
    assert process.stdin is not None
    kill_marked(new_mark())
    process.stdin.close()
    async with asyncio.timeout(10):
        assert await process.wait() == 0


def test_children_of_other_parts_are_not_collected_as_orphans():
    child = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 7"], {})
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    reap_orphans()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
