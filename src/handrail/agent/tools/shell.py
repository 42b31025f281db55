"""A command running in bash: its output as it arrives, its exit code and its last working folder."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol, Self

from handrail.agent.tools import adopt_orphans
from handrail.agent.tools.process_tree import (
    MOST_PROCESSES,
    guard,
    kill_marked,
    marks,
    new_mark,
    process_count,
    process_limit,
    reap_orphans,
    terminate_tree,
)
from handrail.cage.base import Start
from handrail.platform import has

if TYPE_CHECKING:
    from handrail.agent.tools.command_cage import CommandCage

__all__ = ["Shell", "Sink"]

_CHUNK: Final = 64 * 1024
_MAX_FINAL_OUTPUT: Final = 1024 * 1024
"""Bytes read after the exit. Without a limit, a child that keeps the pipe open could print forever."""
_MAX_PATH: Final = 4096

_CAGED: Final = {
    "c": 0,
    "d": min(4 * 1024**2, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2048),
    "f": 1024**2,
}
"""Limits in the cage: no core files, KiB of memory per process, KiB per file."""

Sink = Callable[[bytes], object]


def _discard(data: bytes) -> None:
    pass


class _Process(Protocol):
    @property
    def pid(self) -> int: ...
    async def wait(self) -> int: ...


class _Stream:
    """The reading end of a pipe. `sink` receives the data and may be replaced at any time."""

    def __init__(self, descriptor: int, sink: Sink) -> None:
        self.sink, self._descriptor = sink, descriptor
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(descriptor, self._readable)

    def _readable(self) -> None:
        self._read()

    def _read(self) -> int:
        """Pass some data to the sink. Returns its size, 0 if none is available now."""
        try:
            data = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return 0
        except OSError:
            data = b""
        if not data:
            self.close()
            return 0
        self.sink(data)
        return len(data)

    def read_rest(self) -> None:
        """Pass on what is in the pipe after the exit. Later data is dropped."""
        left = _MAX_FINAL_OUTPUT
        while left > 0 and self._descriptor >= 0 and (got := self._read()):
            left -= got
        # Children started with `&` may keep printing.
        self.sink = _discard

    def close(self) -> None:
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1


class Shell:
    """One running command. `output` has its stdout and stderr, or its stdout alone and `errors` its stderr."""

    def __init__(
        self,
        process: _Process,
        mark: str,
        output: _Stream,
        errors: _Stream | None,
        folder: int,
        on_exit: Callable[[], object],
        end_caged: Callable[[], bool] | None,
    ) -> None:
        self.output, self.errors = output, errors
        self._streams = [output, errors] if errors else [output]
        self._end_caged = end_caged
        self._on_exit = on_exit
        self._process = process
        self._mark = mark
        self._folder = folder
        self._ended = asyncio.Event()
        process_limit.start()

    @classmethod
    async def start(
        cls,
        command: str,
        *,
        cwd: str,
        environment: Mapping[str, str],
        sink: Sink,
        errors: Sink | None = None,
        wrapper: Sequence[str] = (),
        adopts: bool = False,
        cage: CommandCage | None = None,
        on_exit: Callable[[], object] = lambda: None,
    ) -> Self:
        """Start a command in a new session, with an empty stdin and one pipe for stdout and stderr.

        `errors` receives stderr by a pipe of its own. `wrapper` is put in front of bash's argv (the sandbox). With
        `adopts`, `terminate` also finds orphans that left the session and emptied their environment; it delays the
        start by some milliseconds. `on_exit` is called when the command has exited. Raises CageError if the cage cannot
        be built.
        """
        mark = new_mark()
        guardian = guard()
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            output, writes = _pipe(ours, theirs)
            folder, folder_writes = _pipe(ours, theirs)
            error_reads, error_writes = _pipe(ours, theirs) if errors else (-1, -1)
            inherited = (folder_writes, error_writes) if errors else (folder_writes,)
            limits = _CAGED if cage and not cage.limits.builds else {}
            argv = [*wrapper, *_argv(command, folder_writes, error_writes, limits)]
            if adopts and cage is None and has("subreaper"):  # a cage knows its processes
                argv = [sys.executable, "-I", "-S", adopt_orphans.__file__, *argv]
            variables = {**environment, **marks(mark)}
            if cage is not None:
                start = Start(argv, cwd, variables, writes, inherited)
                process = caged = await cage.guard.start(start, cage.limits, witness=guardian)
            else:
                caged = None
                process = await asyncio.create_subprocess_exec(
                    *argv,
                    cwd=cwd,
                    env=variables,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=writes,
                    stderr=asyncio.subprocess.STDOUT,
                    pass_fds=inherited,
                    start_new_session=True,
                )
            ours.pop_all()
        apart = _Stream(error_reads, errors) if errors else None
        return cls(process, mark, _Stream(output, sink), apart, folder, on_exit, caged.end_all if caged else None)

    @property
    def was_fork_bomb(self) -> bool:
        """Whether it was ended because it had started too many processes."""
        return self._process.pid in process_limit.ended

    async def wait(self) -> int:
        """Wait until it has exited and the sink has its output. Returns the exit code, 128 + N after signal N."""
        code = await self._process.wait()
        if not self._ended.is_set():
            self._ended.set()
            # A command in the cage was not approved to leave processes behind.
            if self._end_caged and not self._end_caged():
                kill_marked(self._mark)
            for stream in self._streams:
                stream.read_rest()
            self._on_exit()
            reap_orphans()
        return code if code >= 0 else 128 - code

    def last_folder(self) -> str:
        """The folder it ended in, "" if it failed or was terminated. Call once, after the exit: closes the pipe."""
        descriptor, self._folder = self._folder, -1
        try:
            return os.fsdecode(os.read(descriptor, _MAX_PATH)).removesuffix("\n")
        except OSError:
            return ""
        finally:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    async def terminate(self) -> None:
        """Terminate it and all its descendants, and wait until they have exited."""
        waiting = asyncio.ensure_future(self.wait())
        try:
            await terminate_tree(self._process.pid, self._mark, self._ended)
            await waiting
        finally:
            waiting.cancel()
            for stream in self._streams:
                stream.close()
            self.last_folder()


def _pipe(ours: contextlib.ExitStack, theirs: contextlib.ExitStack) -> tuple[int, int]:
    reads, writes = os.pipe()
    ours.callback(os.close, reads)
    theirs.callback(os.close, writes)
    os.set_blocking(reads, False)
    return reads, writes


def _argv(command: str, folder_writes: int, error_writes: int, limits: Mapping[str, int]) -> list[str]:
    """Bash's argv. If the command succeeds, bash then writes its working folder to `folder_writes`.

    That pipe is closed while the command runs, so the command cannot write to it. `error_writes` becomes stderr,
    unless it is negative. `limits` are options of `ulimit`; a limit on processes is added, which the kernel counts for
    all processes of a user.
    """
    program = "/bin/bash" if os.access("/bin/bash", os.X_OK) else shutil.which("bash") or "bash"
    given = {**limits, **({"u": count + MOST_PROCESSES} if (count := process_count()) else {})}
    limit = "".join(f"ulimit -{option} {value} 2>&-; " for option, value in given.items())
    apart = f"exec 2>&{error_writes} {error_writes}>&-; " if error_writes >= 0 else ""
    return [program, "-c", f"{limit}{apart}eval {shlex.quote(command)} {folder_writes}>&- && pwd -P >&{folder_writes}"]
