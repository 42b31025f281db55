"""A child process: start, end, and no leftovers."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from handrail.transport.base import Ending, TransportClosed
from handrail.transport.guardian import MARK
from handrail.transport.process import STDERR_KEPT, ProcessTransport
from tests.transport.lifeline import HOLD, Lifeline, ended

STUBBORN = """
import signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
hold(sys.argv[1])
print("ready", flush=True)
while True:
    signal.pause()
"""
# Starts a process in another group and session; both hold the lifeline.
WITH_GRANDCHILD = """
import os, signal, sys
if os.fork() == 0:
    os.setsid()
    hold(sys.argv[1])
    while True:
        signal.pause()
hold(sys.argv[1])
"""
ECHO = "import os\nwhile data := os.read(0, 65536): os.write(1, data)"


def python(program: str, *arguments: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", HOLD + program, *arguments]


@asynccontextmanager
async def running(program: str, *arguments: str, **options: Any) -> AsyncIterator[ProcessTransport]:
    transport = ProcessTransport(python(program, *arguments), **options)
    await transport.start()
    try:
        async with asyncio.timeout(60):
            yield transport
    finally:
        await transport.close()


async def read_all(transport: ProcessTransport) -> bytes:
    data = b""
    while piece := await transport.receive():
        data += piece
    return data


async def test_child_echoes_its_input():
    async with running(ECHO) as child:
        await child.send(b'{"n":1}\n')
        assert await child.receive() == b'{"n":1}\n'
        await child.end_input()
        assert await child.receive() == b""
        assert await child.close() == Ending(code=0)


async def test_child_leads_a_new_session_and_group():
    async with running("import os; print(os.getpid(), os.getpgid(0), os.getsid(0))") as child:
        assert await read_all(child) == b"%d %d %d\n" % (child.pid, child.pid, child.pid)


async def test_child_gets_its_environment_and_a_mark(tmp_path: Path):
    program = "import os; print(sorted(os.environ), os.getcwd())"
    async with running(program, env={"ONLY": "this"}, cwd=tmp_path) as child:
        said = (await read_all(child)).decode()
    assert said in (f"{names} {tmp_path}\n" for names in (sorted([MARK, "ONLY"]), sorted([MARK, "LC_CTYPE", "ONLY"])))


async def test_child_inherits_only_stdio():
    other = os.dup(0)
    os.set_inheritable(other, True)
    try:
        async with running("import os; print(*sorted(map(int, os.listdir('/proc/self/fd'))))") as child:
            assert await read_all(child) == b"0 1 2 3\n"  # 3 is the listed folder itself
    finally:
        os.close(other)


async def test_unstarted_transport_has_no_process():
    transport = ProcessTransport(["true"])
    assert (await transport.receive(), transport.pid, transport.stderr) == (b"", None, "")
    with pytest.raises(TransportClosed):
        await transport.send(b"hello\n")
    await transport.end_input()
    assert await transport.close() == Ending()


@pytest.mark.parametrize(
    ("program", "ending"),
    [
        ("sys.exit(0)", Ending(code=0)),
        ("sys.exit(7)", Ending(code=7)),
        ("sys.exit('no such model')", Ending(code=1, stderr="no such model")),
        ("os.kill(os.getpid(), 9)", Ending(signal="SIGKILL")),
        ("os.kill(os.getpid(), 50)", Ending(signal="signal 50")),
    ],
)
async def test_ending_of_a_child_is_returned(program: str, ending: Ending):
    async with running(program) as child:
        assert await child.receive() == b""
        assert await child.close() == ending


async def test_child_that_ignores_end_of_input_gets_sigterm():
    async with running("import time; print('ready', flush=True); time.sleep(600)", eof_grace=0.05) as child:
        assert await child.receive() == b"ready\n"
        assert await child.close() == Ending(signal="SIGTERM")


async def test_child_that_ignores_sigterm_is_killed(tmp_path: Path):
    async with (
        Lifeline(tmp_path / "line") as line,
        running(STUBBORN, line.path, eof_grace=0.05, term_grace=0.05) as child,
    ):
        await line.held_by(1)
        assert await child.receive() == b"ready\n"
        assert await child.close() == Ending(signal="SIGKILL")
        await line.let_go()


async def test_child_that_exits_at_end_of_input_is_not_signalled():
    program = "import signal; signal.signal(signal.SIGTERM, lambda *_: sys.exit(9)); sys.stdin.read(); sys.exit(3)"
    async with running(program) as child:
        assert await child.close() == Ending(code=3)


async def test_sigterm_reaches_the_whole_group(tmp_path: Path):
    program = "import os, time\nos.fork()\nhold(sys.argv[1])\ntime.sleep(600)"
    async with Lifeline(tmp_path / "line") as line, running(program, line.path, eof_grace=0.05) as child:
        await line.held_by(2)
        assert await child.close() == Ending(signal="SIGTERM")
        await line.let_go()


async def test_grandchild_outside_the_group_is_killed_with_the_child(tmp_path: Path):
    async with Lifeline(tmp_path / "line") as line, running(WITH_GRANDCHILD + "sys.stdin.read()", line.path) as child:
        await line.held_by(2)
        assert await child.close() == Ending(code=0)
        await line.let_go()


async def test_grandchild_with_stdout_does_not_delay_end_of_stream(tmp_path: Path):
    program = WITH_GRANDCHILD + "sys.stdin.readline()\nprint('bye', flush=True)\nos._exit(0)"
    async with Lifeline(tmp_path / "line") as line, running(program, line.path) as child:
        await line.held_by(2)
        await child.send(b"leave\n")
        assert await read_all(child) == b"bye\n"
        await line.let_go()
        assert await child.close() == Ending(code=0)


async def test_hidden_grandchild_does_not_delay_close(tmp_path: Path):
    """It has left the group, cleared its environment and holds all three pipes."""
    wiped = f"os.execve({sys.executable!r}, ['python', '-I', '-S', '-c', 'import time; time.sleep(600)'], {{}})"
    program = (
        f"import os\nif (pid := os.fork()) == 0:\n    os.setsid()\n    {wiped}\nprint(pid, flush=True)\nos._exit(0)"
    )
    async with running(program, eof_grace=600) as child:
        grandchild = int(await child.receive())
        try:
            receiving = asyncio.create_task(child.receive())
            assert await child.close() == Ending(code=0)
            assert await receiving == b""
        finally:
            os.kill(grandchild, signal.SIGKILL)


async def test_stderr_is_drained_and_its_end_kept():
    program = "sys.stderr.write(''.join(f'line {n}\\n' for n in range(25_000))); print('done', flush=True)"
    async with running(program) as child:
        assert await read_all(child) == b"done\n"
        ending = await child.close()
    assert ending == Ending(code=0, stderr="\n".join(f"line {n}" for n in range(24_980, 25_000)))
    assert sum(map(len, child._errors)) < 2 * STDERR_KEPT + 256 * 1024


async def test_stderr_callback_receives_every_byte():
    heard: list[bytes] = []
    async with running("sys.stderr.write('x' * 200_000)", on_stderr=heard.append) as child:
        await child.close()
    assert sum(map(len, heard)) == 200_000


async def test_invalid_utf8_in_stderr_is_replaced():
    async with running(r"import os; os.write(2, b'caf\xe9\n')") as child:
        assert await child.close() == Ending(code=0, stderr="caf\ufffd")


async def test_close_during_start_stops_the_child():
    child = ProcessTransport(python("import signal; signal.pause()"), eof_grace=0)
    starting = asyncio.create_task(child.start())
    await asyncio.sleep(0)  # starting: the process does not exist yet
    assert child.pid is None
    assert (await child.close()).signal == "SIGTERM"
    await starting
    assert child.pid is not None
    assert not psutil.pid_exists(child.pid)


async def test_closed_transport_cannot_be_started():
    child = ProcessTransport(python(ECHO))
    await child.close()
    with pytest.raises(TransportClosed, match="closed before it was started"):
        await child.start()
    assert child.pid is None


async def test_cancelled_close_leaves_no_process(tmp_path: Path):
    async with Lifeline(tmp_path / "line") as line, running(STUBBORN, line.path, eof_grace=600) as child:
        await line.held_by(1)
        closing = asyncio.create_task(child.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        await line.let_go()
        assert await child.close() == Ending(signal="SIGKILL")


async def test_cancelled_close_leaves_no_grandchild(tmp_path: Path):
    program = WITH_GRANDCHILD + "signal.pause()"
    async with Lifeline(tmp_path / "line") as line, running(program, line.path, eof_grace=600) as child:
        await line.held_by(2)
        closing = asyncio.create_task(child.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        await line.let_go()


@pytest.mark.parametrize(
    ("argv", "cwd", "error", "text"),
    [
        (["/no/such/claude"], None, FileNotFoundError, "/no/such/claude: no such executable"),
        (["no-such-claude"], None, FileNotFoundError, "no-such-claude: no such executable on PATH /usr/bin:/bin"),
        ([__file__], None, PermissionError, f"{__file__}: not an executable file"),
        ([os.path.dirname(__file__)], None, FileNotFoundError, "no such executable"),
        ([sys.executable], "/no/such/folder", NotADirectoryError, "/no/such/folder: the working folder does not exist"),
        ([sys.executable], __file__, NotADirectoryError, f"{__file__}: the working folder does not exist"),
    ],
    ids=["missing", "not on PATH", "not executable", "a folder", "missing folder", "folder is a file"],
)
async def test_unstartable_child_is_a_clear_error(argv: list[str], cwd: str | None, error: type[OSError], text: str):
    transport = ProcessTransport(argv, cwd=cwd, env={"PATH": "/usr/bin:/bin"})
    with pytest.raises(error, match=text):
        await transport.start()
    assert await transport.close() == Ending()


async def test_unknown_user_is_a_clear_error():
    with pytest.raises(OSError, match="user 'no-such-user' does not exist on this machine"):
        await ProcessTransport([sys.executable], user="no-such-user").start()


async def send_for_ever(child: ProcessTransport) -> None:
    while True:
        await child.send(b"x" * 65_536)


async def test_sending_to_an_exited_child_raises_closed():
    async with running("sys.exit(0)") as child:
        assert await child.receive() == b""
        with pytest.raises(TransportClosed, match="the process no longer reads its input"):
            await send_for_ever(child)


async def test_sending_to_a_child_with_closed_stdin_raises_closed():
    async with running(
        "import os, time; os.close(0); print('closed', flush=True); time.sleep(600)", eof_grace=0
    ) as child:
        assert await child.receive() == b"closed\n"
        with pytest.raises(TransportClosed, match="the process no longer reads its input"):
            await send_for_ever(child)


PARENT = """
import asyncio, os, sys, psutil
from handrail.transport.process import ProcessTransport
async def main():
    child = ProcessTransport(sys.argv[1:])
    await child.start()
    await child.receive()
    others = [process.pid for process in psutil.Process().children() if process.pid != child.pid]
    print(*others, flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda number: number.name)
async def test_killed_parent_leaves_no_processes(tmp_path: Path, number: signal.Signals):
    async with Lifeline(tmp_path / "line") as line, asyncio.timeout(60):
        stubborn = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('ready', flush=True)\n"
        command = python(WITH_GRANDCHILD + stubborn + "while True: signal.pause()", line.path)
        parent = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PARENT, *command, stdout=asyncio.subprocess.PIPE
        )
        try:
            assert parent.stdout
            (guardian,) = map(int, (await parent.stdout.readline()).split())
            await line.held_by(2)
            handle = os.pidfd_open(guardian)
        finally:
            parent.send_signal(number)
        await line.let_go()
        await ended(handle)
        assert await parent.wait() == -number
        assert not psutil.pid_exists(guardian) or psutil.Process(guardian).status() == psutil.STATUS_ZOMBIE


async def test_secrets_in_stderr_are_masked():
    secret = "s3cret-of-the-child"
    program = (
        "import sys; sys.stderr.write('Invalid API key sk-ant-api03-abcdefghijklmnop, token s3cret-of-the-child\\n')"
    )
    child = ProcessTransport([sys.executable, "-c", program], env={**os.environ, "MY_TOKEN": secret})
    await child.start()
    async with asyncio.timeout(30):
        while await child.receive():
            pass
        ending = await child.close()
    assert ending.stderr == "Invalid API key ***, token ***"


# Closes a transport with unsent input while another process, this one, holds the child's end of the pipe.
LEAVES_INPUT_UNSENT = """
import asyncio, os
from handrail.transport.process import ProcessTransport
async def main():
    transport = ProcessTransport(["sleep", "1000"], eof_grace=0.01)
    await transport.start()
    os.open(f"/proc/{transport.pid}/fd/0", os.O_RDONLY | os.O_NONBLOCK)
    sending = asyncio.create_task(transport.send(b"x" * 4 * 1024 * 1024))
    await asyncio.sleep(0)
    await transport.close()
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
asyncio.run(main())
"""


def test_unsent_input_does_not_keep_the_pipe_open():
    command = [sys.executable, "-W", "always::ResourceWarning", "-c", LEAVES_INPUT_UNSENT]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")
