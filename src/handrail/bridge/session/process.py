"""The CLI process of a session: starting, resuming, stopping, crashing.

A session has at most one process. It is ended when the session has been idle for a while, and started again when
something is sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final, NoReturn

from msgspec import Struct

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.events import event
from handrail.bridge.session.grants import lapse
from handrail.bridge.session.prewarmed import PrewarmedProcesses
from handrail.bridge.session.recorder import Recorder
from handrail.bridge.session.wire_ring import WireRing
from handrail.bridge.store.base import NewEvent
from handrail.client.environment import child_environment
from handrail.client.errors import HandrailError
from handrail.client.inbox import Item
from handrail.client.options import Options
from handrail.client.readers import ConversationReader, FrameReader
from handrail.client.session import Session
from handrail.transport.base import Ending

__all__ = ["STDERR_SHOWN", "Process"]

log = logging.getLogger("handrail.bridge")

STDERR_SHOWN: Final = 64 * 1024
ABANDON_SECONDS: Final = 1.0
"""Seconds a process may take to exit when its session is abandoned."""
MOST_CRASHES: Final = 3
CRASH_WINDOW: Final = 60.0
"""No start is attempted after MOST_CRASHES within this many seconds."""

Write = Callable[..., Awaitable[None]]


class Process:
    """One session's process, or its absence.

    options    builds the SDK's options; its argument says whether to resume the conversation
    write      records events together with the state that results
    take       consumes what the CLI writes
    started    called when a new process runs
    ended      called with the reason ("" if the end was wanted) and exit details once the process has ended; returns
               the events that close what it left unfinished
    prewarmed  processes that wait for a session
    """

    def __init__(
        self,
        recorder: Recorder,
        *,
        options: Callable[[bool], Options],
        write: Write,
        take: Callable[[list[Item]], Awaitable[None]],
        started: Callable[[], None],
        ended: Callable[[str, dict[str, Any]], list[NewEvent]],
        clock: Callable[[], float],
        prewarmed: PrewarmedProcesses,
    ) -> None:
        self._recorder, self._options, self._clock, self._prewarmed = recorder, options, clock, prewarmed
        self._write, self._take, self._on_started, self._on_ended = write, take, started, ended
        self._lock = asyncio.Lock()
        self._opening: _Opening | None = None
        self._draining: asyncio.Task[Any] | None = None
        self._crashes: deque[float] = deque(maxlen=MOST_CRASHES)
        self.session: Session | None = None
        self.starting = False
        self.ending = False
        """It is being ended on purpose, so its end does not count as a crash."""
        self.stopped = False
        """The user stopped it. Queued prompts wait for the next message or an explicit start."""
        self.closed = False
        self.was_used = False
        """The CLI was given a prompt, so it may know the conversation although it has not named it yet."""
        self.resumed = False
        """Whether the current or last process resumed a conversation."""
        self.wire = WireRing()
        self._frames: FrameReader | None = None
        """Forwards the frames of the current process to `wire` as long as it is referenced."""
        self.sign_ins: dict[str, str] = {}
        """URLs at which people sign in to MCP servers, by server name. They are valid for the current process only."""

    @property
    def running(self) -> bool:
        """Whether there is a process."""
        return self.session is not None

    # Starting

    async def ensure(self) -> None:
        """Ensure that a process runs. Raises CommandRefused if none can start."""
        async with self._lock:
            if self.closed:
                raise CommandRefused("closing", "the session is being closed")
            if self.stopped:
                raise CommandRefused("stopped", "the session was stopped; queued messages go to its next process")
            if self.session is None:
                await self._start()

    async def _start(self) -> None:
        now = self._clock()
        if len(self._crashes) == MOST_CRASHES and now - self._crashes[0] < CRASH_WINDOW:
            why = f"the CLI crashed {MOST_CRASHES} times within {CRASH_WINDOW:.0f} s; try again in a minute"
            await self._refuse_start(CommandRefused("crashing", why))
        self.starting = True
        try:
            opened = await self._open()
        except CommandRefused as refused:
            self.starting = False
            await self._refuse_start(refused)
        finally:
            self.starting, self._opening = False, None
        session = self.session = opened.session
        self.ending = False
        self.sign_ins.clear()
        self.resumed = opened.resumed or bool(self._recorder.record.options.get("origin"))
        self._on_started()
        self._recorder.change(active=False, trusted="project" in (opened.options.setting_sources or ()))
        try:
            await self._write(event("started", resumed=opened.resumed, version=opened.version))
        except HandrailError as error:
            await self._finish(session, str(error))
            raise
        self.wire.begin(child_environment(opened.options))
        self._frames = opened.frames
        self._frames.forward(self.wire.put)
        self._draining = self._recorder.run(self._drain(opened.reader))
        self._recorder.run(self._watch(session, self._draining))
        if servers := self._recorder.record.options.get("mcp_servers"):
            try:
                await session.mcp_set_servers(servers)
            except HandrailError as error:
                log.warning("session %s runs without its MCP servers: %s", self._recorder.record.id, error)

    async def _open(self) -> _Opened:
        record = self._recorder.record
        changed, lapsed = lapse(record)
        self._recorder.correct(error="")
        if changed:  # stored before the start: a grant for one process must not reach the next, even after a crash
            await self._recorder.update(active=False, **changed)
        await self._write(*lapsed)
        ways = _ways_to_open(known=bool(record.conversation), used=self.was_used)
        self._opening = _Opening(self._options, ways, self._prewarmed)
        return await self._opening.open()

    async def _refuse_start(self, refused: CommandRefused) -> NoReturn:
        self._recorder.correct(error="" if refused.code == "stopped" else refused.message[:2000])
        await self._write(event("ended", why=refused.message[:STDERR_SHOWN]))
        raise refused

    # Running and ending

    async def _drain(self, reader: ConversationReader) -> None:
        while batch := await reader.batch():
            await self._take(batch)

    async def _watch(self, session: Session, draining: asyncio.Task[Any]) -> None:
        """Handle a process that ended by itself, or whose output cannot be stored."""
        await asyncio.wait([draining])
        async with self._lock:
            if self.session is session:
                await self._finish(session, _problem(draining))

    async def stop(self, *, only_if: Callable[[], bool] = lambda: True) -> None:
        """End the process, if there is one, once all its output is persisted."""
        if self._opening is not None:  # do not wait for a CLI that does not answer
            self._opening.stop()
        async with self._lock:
            if not only_if():
                return
            self.stopped = True
            session = self.session
            if session is None or self._draining is None:
                return
            self.ending = True
            await session.close()
            await asyncio.wait([self._draining])
            await self._finish(session, _problem(self._draining))

    async def abandon(self) -> None:
        """End the process at once: another machine owns the session, and nothing more is recorded."""
        self.closed = self.ending = True
        if self._opening is not None:
            self._opening.stop()
        if self.session is not None:
            with contextlib.suppress(TimeoutError):  # cancelling the close kills the process
                async with asyncio.timeout(ABANDON_SECONDS):
                    await self.session.close()

    async def _finish(self, session: Session, problem: str = "") -> None:
        """The process has exited, or is ended now because its output cannot be stored."""
        ending: Ending = await session.close()
        self.session = None
        self._recorder.correct(error=problem)
        how = {"code": ending.code, "signal": ending.signal, "stderr": session.stderr[-STDERR_SHOWN:]}
        why = "" if self.ending else problem or f"the CLI exited by itself ({ending.describe()})"
        if not self.ending and not problem:
            self._crashes.append(self._clock())
        try:
            await self._write(*self._on_ended(why, how), event("ended", why=why, **how))
        finally:
            if problem:
                self._recorder.feed.cut(problem)


def _problem(draining: asyncio.Task[Any]) -> str:
    error = None if draining.cancelled() else draining.exception()
    return "" if error is None else f"the output of the CLI cannot be stored: {error}"


# One attempt to start


class _Opened(Struct, frozen=True):
    """A CLI that completed the handshake."""

    session: Session
    reader: ConversationReader
    frames: FrameReader
    options: Options
    resumed: bool

    @property
    def version(self) -> str:
        return str(getattr(self.session.server_info, "claude_code_version", "") or "")


def _ways_to_open(*, known: bool, used: bool) -> tuple[bool, ...]:
    """Whether to resume, in the order to try. `known`: the CLI named the conversation; `used`: it got a prompt.

    A CLI refuses to begin a conversation that it knows, and to resume one that it does not know. If the process died in
    its first turn, it is unknown which applies, so both are tried.
    """
    if known:
        return (True,)
    return (False, True) if used else (False,)


class _Opening:
    """A start under way, which another task may stop."""

    def __init__(
        self, options: Callable[[bool], Options], ways: tuple[bool, ...], prewarmed: PrewarmedProcesses
    ) -> None:
        self._options, self._ways, self._prewarmed = options, ways, prewarmed
        self._task: asyncio.Task[_Opened] | None = None
        self._stopped = False

    async def open(self) -> _Opened:
        """Start the CLI. CommandRefused if every way fails, or `stop` was called."""
        self._task = asyncio.create_task(self._try())
        try:
            return await self._task
        except (HandrailError, ValueError, OSError) as error:
            raise CommandRefused("not_started", str(error)) from error
        except asyncio.CancelledError:
            if not self._stopped:
                raise
            raise CommandRefused("stopped", "the session was stopped while its CLI started") from None
        finally:  # not earlier: the processes that start now would slow this one down
            self._prewarmed.refill()

    def stop(self) -> None:
        """Cancel the start and end the process."""
        self._stopped = True
        if self._task is not None:
            self._task.cancel()

    async def _try(self) -> _Opened:
        errors: list[HandrailError] = []
        for resumes in self._ways:
            try:
                options = self._options(resumes)
                session = Session(options, process=self._prewarmed.process)
                reader, frames = session.conversation(), session.frames()
                await session.start()
            except HandrailError as error:
                errors.append(error)
            else:
                return _Opened(session, reader, frames, options, resumes)
        raise errors[0]
