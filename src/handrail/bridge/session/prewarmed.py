"""Prewarmed processes: started before a session needs them, and given to the next session that starts or resumes.

Only `handrail-agent` is prewarmed. A waiting process has loaded its modules and done nothing else. It gets the folder
and the arguments of a session when it is taken, and reads settings, runs hooks and connects MCP servers after that. So
it suits every session that would run the same executable in the same environment. No process serves two sessions.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from handrail.bridge.process_memory import free_memory
from handrail.client.environment import child_environment
from handrail.client.launch import Launch
from handrail.client.options import Options
from handrail.transport.base import Transport
from handrail.transport.prewarmed import PrewarmedTransport
from handrail.transport.process import ProcessTransport
from handrail.transport.start_message import AWAIT_START, Start

__all__ = ["LEAST_MEMORY", "PrewarmedProcesses"]

log = logging.getLogger("handrail.bridge")

LEAST_MEMORY: Final = 512 * 1024**2
"""Bytes of free memory below which no process waits."""


class PrewarmedProcesses:
    """At most `most` waiting processes; 0 for none.

    agent       the options of the process that a session would start now, without its folder; None if no process of it
                can wait
    idle_after  seconds without a session that starts after which the waiting processes end
    free        bytes of free memory; 0 if the system does not say

    Processes are started by `refill` only: once the server runs, and after each start of a session. So one that dies
    while it waits is not replaced before the next session starts.
    """

    def __init__(
        self,
        most: int = 0,
        agent: Callable[[], Options | None] = lambda: None,
        *,
        idle_after: float = 900.0,
        clock: Callable[[], float] = time.monotonic,
        free: Callable[[], int] = free_memory,
    ) -> None:
        self._most, self._agent = most, agent
        self._idle_after, self._clock, self._free = idle_after, clock, free
        self._used = clock()
        self._waiting: list[_Waiting] = []
        self._filling: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def pids(self) -> list[int]:
        """The ids of the waiting processes."""
        return [pid for one in self._waiting if (pid := one.process.pid) is not None]

    def process(self, launch: Launch) -> Transport:
        """The transport to a waiting process that suits this start, else to a new process."""
        self._used = self._clock()
        cwd, needed = launch.cwd, _Program.of(launch.argv[0], launch.env)
        if cwd is None or not os.path.isdir(cwd):  # a new process reports a missing folder
            return launch.new_process()
        for waiting in self._waiting:
            if waiting.process.running and waiting.program == needed:
                self._waiting.remove(waiting)
                start = Start(cwd, launch.argv[1:])
                return PrewarmedTransport(waiting.process, start, launch.new_process, folder=launch.folder)
        return launch.new_process()

    def refill(self) -> None:
        """Start the missing processes in the background."""
        if self._most and not self._closed and (self._filling is None or self._filling.done()):
            self._filling = asyncio.create_task(self._fill(), name="handrail prewarming")

    async def filled(self) -> None:
        """Wait until the missing processes are started."""
        if self._filling is not None:
            await asyncio.wait([self._filling])

    async def sweep(self) -> None:
        """End the processes that are no longer needed, or that take memory which is short."""
        unneeded = self._clock() - self._used >= self._idle_after or self._is_memory_short()
        await self._end_unless(None if unneeded else self._wanted())

    async def close(self) -> None:
        """End all processes; no other starts."""
        self._closed = True
        if self._filling is not None:
            self._filling.cancel()
        await self.filled()
        await self._end_unless(None)

    async def _fill(self) -> None:
        wanted = self._wanted()
        await self._end_unless(wanted)
        while wanted is not None and len(self._waiting) < self._most and not self._is_memory_short():
            process = ProcessTransport([wanted.executable, AWAIT_START], cwd="/", env=wanted.environment)
            try:
                await process.start()
            except OSError as error:
                log.warning("no process was prewarmed: %s", error)
                return
            self._waiting.append(_Waiting(wanted, process))

    def _wanted(self) -> _Program | None:
        options = self._agent()
        return None if options is None else _Program.of(str(options.cli_path), child_environment(options))

    def _is_memory_short(self) -> bool:
        return 0 < self._free() < LEAST_MEMORY

    async def _end_unless(self, wanted: _Program | None) -> None:
        """End the processes of other programs, and forget those that have exited."""
        ended = [one for one in self._waiting if one.program != wanted or not one.process.running]
        self._waiting = [one for one in self._waiting if one not in ended]
        await asyncio.gather(*(one.process.close() for one in ended))


class _Program(Struct, frozen=True):
    """An executable and its environment. An installation replaces the file, which its `state` shows."""

    executable: str
    state: tuple[int, int, int]
    environment: dict[str, str]

    @classmethod
    def of(cls, executable: str, environment: dict[str, str]) -> _Program | None:
        """None if the executable is missing. The folder, which the environment names too, is left out."""
        try:
            found = os.stat(executable)
        except OSError:
            return None
        shared = {name: value for name, value in environment.items() if name != "PWD"}
        return cls(executable, (found.st_ino, found.st_mtime_ns, found.st_size), shared)


class _Waiting(Struct, frozen=True, eq=False):
    program: _Program
    process: ProcessTransport
