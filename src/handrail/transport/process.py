"""A transport over stdin and stdout of a child process.

The child leads a new process group. It is stopped in steps: end of input, SIGTERM, then SIGKILL, the signals to the
whole group, each with a grace period; then everything that still carries its mark is killed. If this process dies, the
kernel kills the child (PR_SET_PDEATHSIG) and the guardian kills the rest. On Windows the steps are end of input,
`taskkill /T` and TerminateProcess. `handrail.platform` has the fallbacks of other systems.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast
from uuid import uuid4

from handrail.platform import (
    KILL,
    TERM,
    child_group,
    die_with_parent,
    grow_pipe,
    signal_group,
    taskkill,
    user_exists,
)
from handrail.transport.base import Ending, Transport, TransportClosed
from handrail.transport.guardian import MARK, Guardian, end_marked

__all__ = ["ProcessTransport"]

CHUNK = 64 * 1024
"""Bytes of one read. Above glibc's limit of 128 KiB, every read would map and unmap memory."""
UNREAD = 512 * 1024
"""Bytes of output that wait to be received before the pipe is left alone."""
PIPE_SIZE = 1024 * 1024
STDERR_KEPT = 64 * 1024
STDERR_LINES = 20
MUTE_GRACE = 2.0
"""Seconds until a child that has closed its stdout is killed, since it cannot send any more."""
PIPE_GRACE = 1.0
"""Seconds to wait for the pipes after the child has exited, in case another process keeps them open."""

_BATCH = (".bat", ".cmd")
"""Windows runs these with cmd.exe, which reads the arguments once more by its own rules."""

log = logging.getLogger("handrail.transport")

_guardian = Guardian()


class _Child(asyncio.SubprocessProtocol):
    """What the event loop reports about a child: its output, whether it reads its input, and its exit."""

    def __init__(self, on_stderr: Callable[[bytes], None]) -> None:
        self.exited = asyncio.Event()
        self.stderr_ended = asyncio.Event()
        self.all_ended = asyncio.Event()
        """Set after the exit, when all pipes are closed too."""
        self.stdin_open = True
        self._writable = asyncio.Event()
        self._writable.set()
        self._on_stderr = on_stderr
        self._output: deque[bytes] = deque()
        self._unread = 0
        self._paused = False
        self._output_ended = False
        self._waiter: asyncio.Future[None] | None = None
        self._stdout: asyncio.ReadTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Casts, because uvloop's transports are not subclasses of asyncio's.
        process = cast("asyncio.SubprocessTransport", transport)
        stdout = self._stdout = cast("asyncio.ReadTransport", process.get_pipe_transport(1))
        with contextlib.suppress(AttributeError):  # uvloop has its own size
            stdout.max_size = CHUNK  # type: ignore[attr-defined]
        with contextlib.suppress(OSError, AttributeError, ValueError):  # optional: fewer wake-ups
            grow_pipe(stdout.get_extra_info("pipe").fileno(), PIPE_SIZE)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != 1:
            self._on_stderr(data)
            return
        self._output.append(data)
        self._unread += len(data)
        if self._unread > UNREAD and not self._paused and self._stdout is not None:
            self._paused = True
            self._stdout.pause_reading()
        self._wake()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 0:
            self.stdin_open = False
            self._writable.set()
        elif fd == 1:
            self._output_ended = True
            self._wake()
        else:
            self.stderr_ended.set()

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.all_ended.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    async def output(self) -> bytes:
        """The next chunk of stdout; b"" at its end. Only one task may wait at a time."""
        while not self._output:
            if self._output_ended:
                return b""
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        chunk = self._output.popleft()
        self._unread -= len(chunk)
        if self._paused and self._unread <= UNREAD // 2 and self._stdout is not None:
            self._paused = False
            self._stdout.resume_reading()
        return chunk

    async def writable(self) -> None:
        """Wait until the child has read enough of its input, or has closed it."""
        await self._writable.wait()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


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
        self._graces = ((None, eof_grace), (TERM, term_grace), (KILL, 5.0))
        self._process: asyncio.SubprocessTransport | None = None
        self._child = _Child(self._take_stderr)
        self._starting: asyncio.Task[None] | None = None
        self._exited = asyncio.Event()
        self._mute = False
        self._errors: deque[bytes] = deque()
        self._errors_size = 0
        self._watching: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[Ending] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.get_pid() if self._process else None

    @property
    def stderr(self) -> str:
        lines = b"".join(self._errors).decode("utf-8", "replace").splitlines()[-STDERR_LINES:]
        if not lines:
            return ""
        from handrail.transport.masking import mask_text  # stderr is shown and logged, so it must not contain secrets

        return mask_text("\n".join(lines), self._env)

    @property
    def running(self) -> bool:
        """Whether the child was started and has not exited."""
        return self._process is not None and not self._child.exited.is_set()

    def guard_folder(self, folder: str) -> None:
        """Have this folder removed if this process dies; the child runs already."""
        if self._process is not None:
            _guardian.watch(self._mark, self._process.get_pid(), folder)

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
            self._signal(KILL)
            await self.close()
            raise

    async def _spawn(self, command: list[str]) -> None:
        loop, pipe = asyncio.get_running_loop(), asyncio.subprocess.PIPE
        other_user: dict[str, Any] = {} if self._user is None else {"user": self._user}  # uvloop lacks this argument
        self._process, _ = await loop.subprocess_exec(
            lambda: self._child,
            *command,
            cwd=self._cwd,
            env={**self._env, MARK: self._mark},
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            **child_group(),
            **other_user,
        )
        _guardian.watch(self._mark, self._process.get_pid(), self._folder)
        self._watching = asyncio.create_task(self._watch(self._process))

    def _check_user(self) -> None:
        if isinstance(self._user, str) and not user_exists(self._user):
            raise FileNotFoundError(f"user {self._user!r} does not exist on this machine")

    def _command(self) -> list[str]:
        """argv with the absolute path of its program, killed with this process where the kernel can do that."""
        from shutil import which

        path = self._env.get("PATH", os.defpath)
        program = which(self.argv[0], path=path)
        if program is None and os.path.isfile(self.argv[0]):
            raise PermissionError(f"{self.argv[0]}: not an executable file")
        if program is None:
            raise FileNotFoundError(
                f"{self.argv[0]}: no such executable" + ("" if "/" in self.argv[0] else f" on PATH {path}")
            )
        if program.lower().endswith(_BATCH):
            raise PermissionError(
                f"{program}: a batch file would run parts of its arguments as commands; name the .exe of the CLI"
            )
        if self._cwd is not None and not os.path.isdir(self._cwd):
            raise NotADirectoryError(f"{os.fspath(self._cwd)}: the working folder does not exist")
        return die_with_parent([os.path.abspath(program), *self.argv[1:]])

    def _stdin(self) -> asyncio.WriteTransport | None:
        pipe = self._process.get_pipe_transport(0) if self._process else None
        return cast("asyncio.WriteTransport | None", pipe)

    async def receive(self) -> bytes:
        if self._process is None:
            return b""
        chunk = await self._child.output()
        self._mute = not chunk
        return chunk

    async def send(self, data: bytes) -> None:
        stdin = self._stdin()
        if stdin is None or stdin.is_closing() or self._exited.is_set():
            raise TransportClosed("the process no longer reads its input")
        stdin.write(data)
        await self._child.writable()
        if not self._child.stdin_open:
            raise TransportClosed("the process no longer reads its input")

    async def end_input(self) -> None:
        if (stdin := self._stdin()) is not None:
            stdin.close()

    async def close(self) -> Ending:
        """Stop the child in steps. If the caller is cancelled meanwhile, the child is killed at once."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        try:
            return await asyncio.shield(self._closing)
        except asyncio.CancelledError:
            self._signal(KILL)
            end_marked(self._mark)
            await asyncio.wait([self._closing])
            raise

    async def _close(self) -> Ending:
        if self._starting is not None:  # stop a child that is still being started, too
            await asyncio.gather(self._starting, return_exceptions=True)
        if self._process is None:
            return Ending()
        try:
            await self._stop(self._process)
        finally:  # in any case: asyncio.run may cancel this task at its end
            if (stdin := self._stdin()) is not None and stdin.get_write_buffer_size():
                stdin.abort()  # closing waits until the bytes are read, and another process may hold the other end
            self._process.close()
        return self._ending()

    async def _stop(self, process: asyncio.SubprocessTransport) -> None:
        await self.end_input()
        for number, grace in ((None, MUTE_GRACE), self._graces[-1]) if self._mute else self._graces:
            if number is not None:
                self._signal(number)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await self._wait_for_exit(process)
            if self._exited.is_set():
                break
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PIPE_GRACE):
                await self._child.stderr_ended.wait()
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def _wait_for_exit(self, process: asyncio.SubprocessTransport) -> None:
        """Wait for the exit of the child. Restarts the watcher if asyncio.run has cancelled it at its end."""
        watching = self._watching
        if not self._exited.is_set() and (watching is None or watching.done() or watching.cancelling()):
            self._watching = asyncio.create_task(self._watch(process))
        await self._exited.wait()

    def _ending(self) -> Ending:
        code = self._process.get_returncode() if self._process else None
        if code is not None and code < 0:
            return Ending(signal=_signal_name(-code), stderr=self.stderr)
        return Ending(code=code, stderr=self.stderr)

    def _signal(self, number: int) -> None:
        if self._process and not self._exited.is_set():
            with contextlib.suppress(OSError):
                if signal_group(self._process.get_pid(), number):
                    return
                if number == KILL or not taskkill(self._process.get_pid()):
                    self._process.kill()

    async def _watch(self, process: asyncio.SubprocessTransport) -> None:
        """Wait for the child itself, then kill its descendants, which could keep the pipes open forever."""
        await self._child.exited.wait()
        with contextlib.suppress(OSError):
            signal_group(process.get_pid(), KILL)
        await asyncio.to_thread(end_marked, self._mark)  # scans all processes
        with contextlib.suppress(TimeoutError):  # another process may hold the pipes
            async with asyncio.timeout(PIPE_GRACE):
                await self._child.all_ended.wait()
        _guardian.forget(self._mark)
        self._exited.set()

    def _take_stderr(self, chunk: bytes) -> None:
        """Keep the end of stderr, and call the listener. Its failure must not stop the reading."""
        self._errors.append(chunk[-STDERR_KEPT:])
        self._errors_size += len(self._errors[-1])
        while self._errors_size - len(self._errors[0]) >= STDERR_KEPT:
            self._errors_size -= len(self._errors.popleft())
        try:
            if self.on_stderr is not None:
                self.on_stderr(chunk)
        except Exception:
            log.exception("the listener to stderr failed")


def _signal_name(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
