"""A transport over stdin and stdout of a child process.

The child leads a new process group. It is stopped in steps: end of input, SIGTERM, then SIGKILL, the signals to the
whole group, each with a grace period; then everything that still carries its mark is killed. If this process dies, the
kernel kills the child (PR_SET_PDEATHSIG) and the guardian kills the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from handrail.transport.base import Ending, Transport, TransportClosed
from handrail.transport.guardian import MARK, Guardian, end_marked

__all__ = ["ProcessTransport"]

CHUNK = 256 * 1024
PIPE_SIZE = 1024 * 1024
STDERR_KEPT = 64 * 1024
STDERR_LINES = 20
MUTE_GRACE = 2.0
"""Seconds until a child that has closed its stdout is killed, since it cannot send any more."""
PIPE_GRACE = 1.0
"""Seconds to wait for the pipes after the child has exited, in case another process keeps them open."""
SET_PIPE_SIZE = 1031

log = logging.getLogger("handrail.transport")

_guardian = Guardian()


class ProcessTransport(Transport):
    """Runs one child.

    `eof_grace` and `term_grace` are the seconds it has to exit after end of input and after SIGTERM. `folder` is
    removed if this process dies; otherwise the caller removes it.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        user: str | int | None = None,
        folder: str = "",
        eof_grace: float = 5.0,
        term_grace: float = 5.0,
        on_stderr: Callable[[bytes], None] | None = None,
    ) -> None:
        self.argv = list(argv)
        self.on_stderr = on_stderr
        self._cwd = cwd
        self._env = dict(os.environ if env is None else env)
        self._user = user
        self._folder = folder
        self._mark = uuid4().hex
        self._graces = ((None, eof_grace), (signal.SIGTERM, term_grace), (signal.SIGKILL, 5.0))
        self._process: asyncio.subprocess.Process | None = None
        self._starting: asyncio.Task[None] | None = None
        self._exited = asyncio.Event()
        self._mute = False
        self._errors: deque[bytes] = deque()
        self._errors_size = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._closing: asyncio.Task[Ending] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def stderr(self) -> str:
        lines = b"".join(self._errors).decode("utf-8", "replace").splitlines()[-STDERR_LINES:]
        if not lines:
            return ""
        from handrail.transport.masking import mask_text  # stderr is shown and logged, so it must not contain secrets

        return mask_text("\n".join(lines), self._env)

    async def start(self) -> None:
        if self._closing is not None:
            raise TransportClosed("the transport was closed before it was started")
        self._check_user()
        self._starting = asyncio.create_task(self._spawn(self._command()))
        try:
            await asyncio.shield(self._starting)
        except asyncio.CancelledError:
            # The child may already run. Left alone, asyncio would wait until all holders of its pipes have closed them.
            await asyncio.wait([self._starting])
            self._signal(signal.SIGKILL)
            await self.close()
            raise

    async def _spawn(self, command: list[str]) -> None:
        pipe = asyncio.subprocess.PIPE
        other_user: dict[str, Any] = {} if self._user is None else {"user": self._user}  # uvloop lacks this argument
        process = self._process = await asyncio.create_subprocess_exec(
            *command,
            cwd=self._cwd,
            env={**self._env, MARK: self._mark},
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            limit=2 * CHUNK,
            start_new_session=True,
            **other_user,
        )
        _guardian.watch(self._mark, process.pid, self._folder)
        self._enlarge_pipe()
        self._tasks = [asyncio.create_task(self._read_stderr()), asyncio.create_task(self._watch())]

    def _check_user(self) -> None:
        if isinstance(self._user, str):
            import pwd  # missing on Windows

            try:
                pwd.getpwnam(self._user)
            except KeyError:
                raise FileNotFoundError(f"user {self._user!r} does not exist on this machine") from None

    def _command(self) -> list[str]:
        """argv, run by setpriv if installed, so that the kernel kills the child with its parent."""
        from shutil import which

        path = self._env.get("PATH", os.defpath)
        program = which(self.argv[0], path=path)
        if program is None and os.path.isfile(self.argv[0]):
            raise PermissionError(f"{self.argv[0]}: not an executable file")
        if program is None:
            raise FileNotFoundError(
                f"{self.argv[0]}: no such executable" + ("" if "/" in self.argv[0] else f" on PATH {path}")
            )
        if self._cwd is not None and not os.path.isdir(self._cwd):
            raise NotADirectoryError(f"{os.fspath(self._cwd)}: the working folder does not exist")
        command = [os.path.abspath(program), *self.argv[1:]]
        setpriv = which("setpriv") if sys.platform == "linux" else None
        return [setpriv, "--pdeathsig", "KILL", "--", *command] if setpriv else command

    def _enlarge_pipe(self) -> None:
        """Reduce wake-ups for a child that writes fast. Optional: the kernel may refuse."""
        assert self._process
        transport: asyncio.SubprocessTransport = getattr(self._process, "_transport")  # noqa: B009
        with contextlib.suppress(OSError, ImportError, AttributeError, ValueError):
            import fcntl

            out = transport.get_pipe_transport(1)
            assert out is not None
            fcntl.fcntl(out.get_extra_info("pipe").fileno(), SET_PIPE_SIZE, PIPE_SIZE)

    async def receive(self) -> bytes:
        if self._process is None or self._process.stdout is None:
            return b""
        chunk = await self._process.stdout.read(CHUNK)
        self._mute = not chunk
        return chunk

    async def send(self, data: bytes) -> None:
        stdin = self._process.stdin if self._process else None
        if stdin is None or stdin.is_closing() or self._exited.is_set():
            raise TransportClosed("the process no longer reads its input")
        try:
            stdin.write(data)
            await stdin.drain()
        except (ConnectionError, BrokenPipeError) as error:
            raise TransportClosed("the process no longer reads its input") from error

    async def end_input(self) -> None:
        if self._process and self._process.stdin:
            self._process.stdin.close()

    async def close(self) -> Ending:
        """Stop the child in steps. If the caller is cancelled meanwhile, the child is killed at once."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        try:
            return await asyncio.shield(self._closing)
        except asyncio.CancelledError:
            self._signal(signal.SIGKILL)
            end_marked(self._mark)
            await asyncio.wait([self._closing])
            raise

    async def _close(self) -> Ending:
        if self._starting is not None:  # stop a child that is still being started, too
            await asyncio.gather(self._starting, return_exceptions=True)
        if self._process is None:
            return Ending()
        await self.end_input()
        for number, grace in ((None, MUTE_GRACE), self._graces[-1]) if self._mute else self._graces:
            if number is not None:
                self._signal(number)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await self._wait_for_exit()
            if self._exited.is_set():
                break
        await asyncio.wait(self._tasks, timeout=PIPE_GRACE)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        getattr(self._process, "_transport").close()  # noqa: B009
        return self._ending()

    async def _wait_for_exit(self) -> None:
        """Wait for the exit of the child. Restarts the watcher if asyncio.run has cancelled it at its end."""
        watching = self._tasks[-1]
        if not self._exited.is_set() and (watching.done() or watching.cancelling()):
            self._tasks[-1] = asyncio.create_task(self._watch())
        await self._exited.wait()

    def _ending(self) -> Ending:
        code = self._process.returncode if self._process else None
        if code is not None and code < 0:
            return Ending(signal=_signal_name(-code), stderr=self.stderr)
        return Ending(code=code, stderr=self.stderr)

    def _signal(self, number: signal.Signals) -> None:
        if self._process and not self._exited.is_set():
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, number)

    async def _watch(self) -> None:
        """Wait for the child itself, then kill its descendants, which could keep the pipes open forever."""
        assert self._process
        await _ended(self._process)
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await asyncio.to_thread(end_marked, self._mark)  # scans all processes
        with contextlib.suppress(TimeoutError):  # waits for the pipes too, which another process may hold
            async with asyncio.timeout(PIPE_GRACE):
                await self._process.wait()
        _guardian.forget(self._mark)
        self._exited.set()

    def _report_stderr(self, chunk: bytes) -> None:
        """Call the listener. Its failure must not stop the reading: a child blocks when its stderr is full."""
        try:
            if self.on_stderr is not None:
                self.on_stderr(chunk)
        except Exception:
            log.exception("the listener to stderr failed")

    async def _read_stderr(self) -> None:
        assert self._process and self._process.stderr
        while chunk := await self._process.stderr.read(CHUNK):
            self._report_stderr(chunk)
            self._errors.append(chunk[-STDERR_KEPT:])
            self._errors_size += len(self._errors[-1])
            while self._errors_size - len(self._errors[0]) >= STDERR_KEPT:
                self._errors_size -= len(self._errors.popleft())


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Wait until the child has exited, even if its pipes are still open."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return  # already reaped; `wait` would wait for the pipes too
    except (OSError, AttributeError):
        await process.wait()
        return
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(handle, done.set)
    try:
        await done.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
