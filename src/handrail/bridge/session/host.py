"""Owns one conversation with a CLI. In: commands of clients. Out: events, on record before anybody is told of them.

The process may come and go: it ends when nothing has happened for a while and is resumed when something is said.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import Any, Final, NoReturn

from msgspec.structs import replace

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.crashes import CRASHES, Crashes
from handrail.bridge.session.delivery import Delivery, Held
from handrail.bridge.session.events import event, no_result
from handrail.bridge.session.grants import granted_again, lapse, options_of
from handrail.bridge.session.heard_session import HeardSession
from handrail.bridge.session.kept_session import Changed
from handrail.bridge.session.opening import Opening, ways_to_open
from handrail.bridge.session.recovery import look_back
from handrail.bridge.session.session_lines import title_of
from handrail.bridge.session.wire_ring import WireRing
from handrail.bridge.store.events_base import EventLog, NewEvent, Receipt
from handrail.bridge.store.index_base import SessionIndex, SessionRecord, State
from handrail.client.environment import child_environment
from handrail.client.errors import HandrailError
from handrail.client.options import Options
from handrail.client.readers import MessageReader
from handrail.client.session import Session
from handrail.protocol import Message, TurnTable

__all__ = ["SessionHost"]

log = logging.getLogger("handrail.bridge")

STDERR_SHOWN: Final = 64 * 1024
LAST_SECOND: Final = 1.0
"""So long a process may take to go that has to be gone soon."""


class SessionHost(HeardSession):
    """One session."""

    def __init__(
        self,
        record: SessionRecord,
        *,
        events: EventLog,
        index: SessionIndex,
        launcher: Callable[..., Options],
        on_change: Changed = lambda record, before: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(record, events=events, index=index, on_change=on_change, clock=clock)
        self._launcher = launcher
        self._opening: Opening | None = None
        self._draining: asyncio.Task[Any] | None = None
        self._starting = self._leaving = self._stopped = False
        self._saying, self._handed = 0, False
        """The CLI was given something; whether it knows the conversation, it says when it begins with it."""
        self._crashes, self._process = Crashes(clock), asyncio.Lock()
        self._delivery = Delivery(self.give, self._work)
        self.wire = WireRing()
        self.resumed = False
        """The process there is, or was last, goes on with a conversation that it knows."""
        self.sign_ins: dict[str, str] = {}
        """Where people sign in to MCP servers, by their names; the process that waits for it knows the rest."""

    # State

    @property
    def running(self) -> bool:
        """Is there a process?"""
        return self._session is not None

    def state(self) -> State:
        """How it stands."""
        if self._starting:
            return "starting"
        if self._session is None:
            return "failed" if self.record.error else "hibernated"
        if len(self.questions):
            return "waiting_approval"
        if self._compacting:
            return "compacting"
        return "running" if self._turns.running or self._turns.pending or self._delivery.open else "idle"

    def _state_events(self) -> list[NewEvent]:
        """An event where the state has become another; and where all is settled, from where to look back."""
        state, waiting = self.state(), len(self.questions)
        if state == self.record.state and waiting == self.record.questions:
            return []
        events = [] if state == self.record.state else [event("state", state=state, error=self.record.error)]
        settled = state in ("idle", "hibernated") and not (self._delivery.open or self._saying)
        self.change(state=state, questions=waiting, **({"settled": self.seq} if settled else {}))
        return events

    # The beginning and the end

    async def recover(self) -> None:
        """Take up what is on record of it. What was open when the server went away is closed, and told."""
        bounds = await self._journal.open()
        after = self.record.settled if self.record.conversation else 0  # was the CLI ever given something?
        if self.record.state in ("hibernated", "failed") and after >= bounds.last:
            return
        found = look_back(await self._journal.read_all(after))
        self._handed = found.handed
        if missing := [rule for rule in found.rules if rule not in self.record.rules]:
            self.change(rules=[*self.record.rules, *missing])
        if found.conversation and not self.record.conversation:
            self.change(conversation=found.conversation)
        for uuid, said in found.accepted.items():
            self._delivery.keep(uuid, Held(said["content"], said.get("priority")))
        self.record = replace(self.record, state=found.state or self.record.state)  # the record may be a bit older
        if self.record.state != "failed":
            self.record = replace(self.record, error="")
        await self._tell_state(*found.events())

    async def close(self) -> None:
        """It ends here: no process starts any more, and nothing more is written."""
        self._leaving = True
        await self.stop()
        await self._finish()

    async def abandon(self, why: str) -> None:
        """It is not ours any more: the process goes at once, nothing more is written, whoever follows begins anew."""
        self._leaving = self._ending = True
        self._over = True  # a record of how it ends here would hide what is open
        self._journal.close()
        if self._opening is not None:
            self._opening.stop()
        if self._session is not None:
            with contextlib.suppress(TimeoutError):  # whoever is cancelled while it ends kills it
                async with asyncio.timeout(LAST_SECOND):
                    await self._session.close()
        for task in self._working:
            task.cancel()
        await self._finish()
        self.feed.cut(why)

    def may_hibernate(self, after: float) -> bool:
        """Has nothing happened for so many seconds, and is nothing under way?"""
        busy = self.state() != "idle" or self._tasks_running or self._saying
        return not busy and self._clock() - self.used >= after

    @property
    def in_use(self) -> bool:
        """Is anybody looking, or anything under way?"""
        return bool(self.running or self._starting or self._saying or self.feed.followers or self._delivery.open)

    def is_forgettable(self, after: float = 60.0) -> bool:
        """Is it in nobody's use, and has nobody asked for it for so many seconds?"""
        return not self.in_use and not self._working and self._clock() - self.touched >= after

    # The process

    async def start(self) -> None:
        """Have a process; what waits is given to it. CommandRefused where there can be none."""
        self._stopped = False
        await self._have_process()
        self._delivery.go()

    async def _have_process(self) -> None:
        async with self._process:
            if self._leaving:
                raise CommandRefused("closing", "the session is being closed")
            if self._stopped:
                raise CommandRefused("stopped", "the session was stopped: what waits is given to its next process")
            if self._session is None:
                await self._start()

    async def _start(self) -> None:
        self.used = self._clock()
        if self._crashes.too_many:
            why = f"the CLI ended by itself {CRASHES} times within a minute: wait a bit"
            await self._not_started(CommandRefused("crashing", why))
        self._starting = True
        known = bool(self.record.conversation)
        try:
            changed, lapsed = lapse(self.record)
            self.record = replace(self.record, error="")
            if changed:  # for good: what was for one process is not for another, also where this one is cut off
                await self.keep(**changed)
            await self._tell_state(*lapsed)
            self._opening = Opening(self._options, ways_to_open(known=known, handed=self._handed))
            opened = await self._opening.open()
        except CommandRefused as refused:
            self._starting = False
            await self._not_started(refused)
        finally:
            self._starting, self._opening = False, None
        session = opened.session
        self._session, self._turns, self._ending = session, TurnTable(), False
        self.sign_ins.clear()
        self.resumed = opened.resumed or bool(self.record.options.get("origin"))
        self.change(trusted="project" in (opened.options.setting_sources or ()))
        try:
            await self._tell_state(event("started", resumed=opened.resumed, version=opened.version))
        except HandrailError as error:
            await self._ended(session, str(error))
            raise
        self._work(self.wire.follow(opened.frames, child_environment(opened.options)))
        self._draining = self._work(self._drain(opened.reader))
        self._work(self._follow(session, self._draining))
        if servers := self.record.options.get("mcp_servers"):
            try:
                await session.mcp_set_servers(servers)
            except HandrailError as error:
                log.warning("session %s goes on without its MCP servers: %s", self.record.id, error)

    def _options(self, resumes: bool) -> Options:  # noqa: FBT001
        return replace(self._launcher(self.record, resumes=resumes), can_use_tool=self._ask, on_elicitation=self._ask)

    async def _not_started(self, refused: CommandRefused) -> NoReturn:
        error = "" if refused.code == "stopped" else refused.message[:2000]
        self.record = replace(self.record, error=error)
        await self._tell_state(event("ended", why=refused.message[:STDERR_SHOWN]))
        raise refused

    async def _drain(self, reader: MessageReader) -> None:
        """Write down all that the CLI says, until it ends."""
        while batch := await reader.batch():
            await self._take(batch)

    async def _follow(self, session: Session, draining: asyncio.Task[Any]) -> None:
        """See how it ends: as we wanted, by itself, or because what it says cannot be kept."""
        await asyncio.wait([draining])
        async with self._process:
            if self._session is session:
                await self._ended(session, _problem(draining))

    async def _ended(self, session: Session, problem: str = "") -> None:
        """The process has gone, or goes now because of a problem of ours."""
        busy, ending = self.state() in ("running", "waiting_approval", "compacting"), await session.close()
        self._session, self._compacting, self._tasks_running = None, False, False
        self.partial.end()
        self.record = replace(self.record, error=problem)
        events = [event("closed", question=one.id, why="the process ended") for one in self.questions.drop_all()]
        events += [event("doubted", uuid=uuid) for uuid in self._delivery.lose()]
        told = {"code": ending.code, "signal": ending.signal, "stderr": session.stderr[-STDERR_SHOWN:]}
        why = "" if self._ending else problem or f"the CLI ended by itself ({ending.describe()})"
        if not self._ending and not problem:
            self._crashes.note()
        if busy and (why or self._turns.running):
            events.append(no_result(why or "the process was ended in the middle of the turn", **told))
        try:
            await self._tell_state(*events, event("ended", why=why, **told))
        finally:
            if problem:
                self.feed.cut(problem)

    async def stop(self, *, only_if: Callable[[], bool] = lambda: True) -> None:
        """End the process, if there is one; what is said next resumes it. All that it says is on record first."""
        if self._opening is not None:  # nobody waits for a CLI that does not answer
            self._opening.stop()
        async with self._process:
            if not only_if():
                return
            self._stopped = True
            session, self._ending = self._session, True
            if session is None or self._draining is None:
                self._ending = False
                return
            await session.close()
            await asyncio.wait([self._draining])
            await self._ended(session, _problem(self._draining))

    # Talking

    def _see(self, message: Message) -> None:
        self._delivery.see(message, self._turns.pending)

    async def say(self, uuid: str, held: Held, by: str, receipt: Receipt | None = None) -> None:
        """Accept a message of the user: from now on it is not lost. It is given to the CLI as soon as there is one."""
        self._delivery.check_room()
        content, urgent = held.content, {"priority": held.priority} if held.priority else {}
        text = content if isinstance(content, str) else " ".join(str(part.get("text", "")) for part in content)
        self._saying += 1
        try:
            await self.record_events([event("said", text, uuid=uuid, content=content, by=by, **urgent)], receipt)
            self.used = self._clock()
            self._stopped = False
            self._delivery.put(uuid, held)
        finally:
            self._saying -= 1
        if not self.record.title and (title := title_of(text)):
            self.change(title=title)

    async def give(self, uuid: str, held: Held) -> None:
        """Give a message to the CLI, with a process for it. CommandRefused where there can be none."""
        await self._have_process()
        if self._delivery.waiting[:1] != [uuid]:  # taken back meanwhile, or something more urgent has come
            return None
        await self._tell_state(event("handed", uuid=uuid))
        while self._session is None or self._ending:  # it has gone meanwhile, and nothing was written to it
            await self._have_process()
        session = self._session
        if session.has_sent(uuid) and self._delivery.take_back(uuid) is not None:
            return await self._tell_state(event("withdrawn", uuid=uuid, why="its uuid was used before"))
        if not self._delivery.hand(uuid):
            return None
        self._turns.send(uuid)
        self._handed = True
        try:
            await session.send(held.content, uuid=uuid, priority=held.priority)
        except HandrailError:  # the process has just gone
            if self._delivery.settle(uuid):
                await self._tell_state(event("doubted", uuid=uuid))

    @property
    def waiting(self) -> list[str]:
        """The messages that no process has been given yet, in the order in which one will be."""
        return self._delivery.waiting

    async def withdraw(self, uuid: str, receipt: Receipt | None = None) -> bool:
        """Take a message back that the CLI has not begun. Out: whether that was possible."""
        held = self._delivery.take_back(uuid)
        if held is None and not await self._taken_back_by_cli(uuid):
            return False
        try:
            await self._tell_state(event("withdrawn", uuid=uuid), receipt=receipt)
        except HandrailError:
            if held is not None:  # that it was taken back is not on record: it waits as before
                self._delivery.keep(uuid, held)
            raise
        return True

    async def _taken_back_by_cli(self, uuid: str) -> bool:
        cancelled = self._session is not None and (await self._session.cancel_async_message(uuid)).cancelled
        if cancelled:
            self._delivery.settle(uuid)
        return cancelled

    @property
    def session(self) -> Session:
        """The conversation with the process there is. CommandRefused where there is none."""
        if self._session is None:
            raise CommandRefused("not_running", "the session has no process now: send it something first")
        return self._session

    # What was granted

    async def grant_again(self) -> list[str]:
        """What lapsed is in force again, by a process that is told so from its start. Out: the rules, in words."""
        if self.state() not in ("idle", "hibernated", "failed"):
            raise CommandRefused("busy", "something is under way: wait until the turn has ended")
        granted = granted_again(self.record, running=self.running)
        chosen = options_of(granted)
        Options(**chosen)  # a rule that cannot be written is refused now: no process would start with it
        if granted:
            await self.stop()
            await self.keep(options={**self.record.options, "granted": granted}, lapsed=[])
        return [words for group in chosen.values() for words in group]


def _problem(draining: asyncio.Task[Any]) -> str:
    error = draining.exception()
    return "" if error is None else f"what the CLI says cannot be kept: {error}"
