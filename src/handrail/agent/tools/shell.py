"""A command that runs in bash. In: the command, where, with which variables. Out: its output as it comes, its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Self

from handrail.agent.tools.process_tree import end_tree, guard, marks, new_mark

__all__ = ["Shell"]

_CHUNK: Final = 64 * 1024
_LAST_WORDS: Final = 1024 * 1024
"""How much is read after the end; what others still print into the same pipe is not waited for."""
_LONGEST_PATH: Final = 4096

Sink = Callable[[bytes], object]


def _discard(data: bytes) -> None:
    pass


class Shell:
    """One running command. `sink` gets what it prints, and may be exchanged while it runs."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        mark: str,
        output: int,
        folder: int,
        sink: Sink,
        on_end: Callable[[], object],
    ) -> None:
        self.sink = sink
        self._on_end = on_end
        self._process = process
        self._mark = mark
        self._output = output
        self._folder = folder
        self._ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(output, self._readable)

    @classmethod
    async def start(
        cls,
        command: str,
        *,
        cwd: str,
        environment: Mapping[str, str],
        sink: Sink,
        box: Sequence[str] = (),
        on_end: Callable[[], object] = lambda: None,
    ) -> Self:
        """Start it, in a process group of its own, with nothing to read, and both outputs in one pipe."""
        mark = new_mark()
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            output, writes = _pipe(ours, theirs)
            folder, tells = _pipe(ours, theirs)
            process = await asyncio.create_subprocess_exec(
                *box,
                *_argv(command, tells),
                cwd=cwd,
                env={**environment, **marks(mark)},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=writes,
                stderr=asyncio.subprocess.STDOUT,
                pass_fds=(tells,),
                start_new_session=True,
            )
            ours.pop_all()
        guard()
        return cls(process, mark, output, folder, sink, on_end)

    async def wait(self) -> int:
        """Until it has ended, and all it printed is with the sink. Out: its exit code, 128 + N after signal N."""
        code = await self._process.wait()
        if not self._ended.is_set():
            self._ended.set()
            self._read_last_words()
            # Who was started with `&` may go on printing, to nobody.
            self.sink = _discard
            self._on_end()
        return code if code >= 0 else 128 - code

    def last_folder(self) -> str:
        """The folder in which it ended; nothing if it failed or was ended. Ask once, after the end."""
        descriptor, self._folder = self._folder, -1
        try:
            return os.fsdecode(os.read(descriptor, _LONGEST_PATH)).removesuffix("\n")
        except OSError:
            return ""
        finally:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    async def end(self) -> None:
        """End it and all it started, and wait for that. Nothing of it runs afterwards."""
        waiting = asyncio.ensure_future(self.wait())
        try:
            await end_tree(self._process.pid, self._mark, self._ended)
            await waiting
        finally:
            waiting.cancel()
            self._close_output()
            self.last_folder()

    def _readable(self) -> None:
        self._read()

    def _read(self) -> int:
        """Some of what was printed. Out: how much; 0 where there is nothing now."""
        try:
            data = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return 0
        except OSError:
            data = b""
        if not data:
            self._close_output()
            return 0
        self.sink(data)
        return len(data)

    def _read_last_words(self) -> None:
        left = _LAST_WORDS
        while left > 0 and self._output >= 0 and (got := self._read()):
            left -= got

    def _close_output(self) -> None:
        if self._output >= 0:
            self._loop.remove_reader(self._output)
            os.close(self._output)
            self._output = -1


def _pipe(ours: contextlib.ExitStack, theirs: contextlib.ExitStack) -> tuple[int, int]:
    reads, writes = os.pipe()
    ours.callback(os.close, reads)
    theirs.callback(os.close, writes)
    os.set_blocking(reads, False)
    return reads, writes


def _argv(command: str, tells: int) -> list[str]:
    """Bash, and after the command, if it went well, the folder it is in.

    The command gets no hand on the pipe in which that is told: it is closed for the time it runs.
    """
    program = "/bin/bash" if os.access("/bin/bash", os.X_OK) else shutil.which("bash") or "bash"
    return [program, "-c", f"eval {shlex.quote(command)} {tells}>&- && pwd -P >&{tells}"]
