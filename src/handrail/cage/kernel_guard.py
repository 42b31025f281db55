"""The cage on Linux: a thread restricts itself, starts the command, waits for it and ends what it has left.

The restrictions bind the thread alone, so no launcher is needed and the agent stays free. The thread stays until the
command has ended, because it shares the command's Landlock domain: its signals reach every process of the cage,
also those that changed their session, group or environment, and none outside.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import subprocess
import threading
from time import monotonic
from typing import Any, Final

from handrail.cage.base import CageError, Limits, Start
from handrail.cage.landlock import FIRST_ABI, SIGNAL_ABI, landlock_abi, ruleset
from handrail.cage.restrict import restrict_thread
from handrail.cage.seccomp import filter_program
from handrail.cage.syscalls import ARCHITECTURES

__all__ = ["KernelCaged", "KernelGuard"]

_KEPT_FOR: Final = 60.0
"""Seconds after which a ruleset is replaced, because files of the system may have been replaced."""
_MOST_RULESETS: Final = 8
_WORKING_FOLDERS: Final = 4
"""The first folders to read are the project and further working folders, which are looked at before each command."""
_EVERYONE: Final = -1
"""As a process id: every process that the caller may signal, except itself."""


class _Rulesets:
    """The rulesets of recent limits. Making one takes longer than everything else about a cage together."""

    def __init__(self) -> None:
        self._kept: dict[Limits, tuple[float, list[tuple[int, int]], int]] = {}

    def take(self, limits: Limits) -> int:
        """A ruleset for the limits, which the caller closes."""
        found = self._kept.pop(limits, None)
        folders = [_identity(path) for path in (*limits.write, *limits.read[:_WORKING_FOLDERS])]
        if found is None or found[0] < monotonic() or found[1] != folders:
            if found is not None:
                os.close(found[2])
            found = (monotonic() + _KEPT_FOR, folders, _ruleset(limits))
        if limits.names:  # rules for single files, which editors replace all the time
            return found[2]
        self._kept[limits] = found
        while len(self._kept) > _MOST_RULESETS:
            os.close(self._kept.pop(next(iter(self._kept)))[2])
        return os.dup(found[2])


def _ruleset(limits: Limits) -> int:
    return ruleset(
        read=limits.read, names=limits.names, write=limits.write, devices=limits.devices, network=limits.network
    )


def _identity(path: str) -> tuple[int, int]:
    """Rules are about files, not about their names: a folder that was replaced needs new rules."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino


class KernelGuard:
    """Landlock and seccomp."""

    name = "Landlock and seccomp"

    def __init__(self) -> None:
        self._rulesets = _Rulesets()

    def problem(self) -> str:
        machine = os.uname().machine
        if machine not in ARCHITECTURES:
            return f"Handrail lacks a system call filter for {machine}"
        if (abi := landlock_abi()) < FIRST_ABI:
            found = f"has Landlock ABI {abi}" if abi else "has no Landlock"
            return f"the kernel {found}; ABI {FIRST_ABI} (Linux 6.2) is needed"
        return ""

    def detail(self) -> str:
        abi = landlock_abi()
        signals = "" if abi >= SIGNAL_ABI else ", signals only to the own process group"
        return f" (Landlock ABI {abi}{signals})"

    async def start(self, start: Start, limits: Limits, *, witness: int = 0) -> KernelCaged:
        if problem := self.problem():
            raise CageError(problem)
        try:
            rules = self._rulesets.take(limits)
        except OSError as error:
            raise CageError(f"the kernel refused to build the cage: {error.strerror}") from error
        caged = KernelCaged(start, limits, rules, witness)
        try:
            await asyncio.shield(caged.started)
        except asyncio.CancelledError:
            caged.started.add_done_callback(caged.abandon)
            raise
        return caged


class KernelCaged:
    """One command in its cage."""

    def __init__(self, start: Start, limits: Limits, rules: int, witness: int) -> None:
        self._loop = asyncio.get_running_loop()
        self.started: asyncio.Future[None] = self._loop.create_future()
        self.pid = 0
        self._start, self._limits, self._rules, self._witness = start, limits, rules, witness
        self._confined = False
        self._ended: asyncio.Future[int] = self._loop.create_future()
        # A pool would reuse the thread, which stays restricted.
        try:
            threading.Thread(target=self._run, name="cage", daemon=True).start()
        except RuntimeError as error:  # the machine has no room for a thread, as for a process
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    def end_all(self) -> bool:
        """The thread has done so when the command exited; whether that reached all depends on its proof."""
        return self._confined

    def abandon(self, started: asyncio.Future[None]) -> None:
        """End a command whose caller was cancelled, once it has started."""
        if started.exception() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    def _run(self) -> None:
        try:
            process = self._start_process()
        except BaseException as error:
            self._tell(self.started, error=error)
            return
        self.pid = process.pid
        self._tell(self.started)
        code = process.wait()
        if self._confined:
            # Without proof that signals are scoped this would end every process of the user.
            with contextlib.suppress(ProcessLookupError):
                os.kill(_EVERYONE, signal.SIGKILL)
        self._tell(self._ended, code)

    def _tell(self, future: asyncio.Future[Any], result: object = None, error: BaseException | None = None) -> None:
        def settle() -> None:
            if future.done():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        with contextlib.suppress(RuntimeError):  # the loop is closed: no one waits any more
            self._loop.call_soon_threadsafe(settle)

    def _start_process(self) -> subprocess.Popen[bytes]:
        start, limits = self._start, self._limits
        program = filter_program(
            os.uname().machine,
            builds=limits.builds,
            network=limits.network,
            signals=landlock_abi() >= SIGNAL_ABI,
        )
        # Once restricted, the thread cannot open any file of the agent, not even /dev/null.
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            try:
                self._confined = restrict_thread(self._rules, program, self._witness)
            except OSError as error:
                raise CageError(f"the kernel refused to build the cage: {error.strerror}") from error
            finally:
                os.close(self._rules)
            return subprocess.Popen(
                start.argv,
                cwd=start.cwd,
                env=start.environment,
                stdin=nothing,
                stdout=start.output,
                stderr=start.output,
                pass_fds=start.inherited,
                start_new_session=True,
            )
        finally:
            os.close(nothing)
