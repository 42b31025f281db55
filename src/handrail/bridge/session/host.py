"""One session: composed of a recorder, a reader, questions, a delivery queue and a process.

| part | does |
|---|---|
| recorder | persists events and the record, then publishes them |
| reader | reads what the CLI writes |
| questions | permissions, plans and questions that wait for a person |
| delivery | prompts on their way to the CLI |
| process | the CLI: started when needed, ended when idle |

The host connects them, derives the session's state, and is the interface for commands.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable
from typing import Any

import msgspec

from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.delivery import Delivery, Prompt
from handrail.bridge.session.events import event, missing_result
from handrail.bridge.session.feed import Feed, Partial
from handrail.bridge.session.grants import options_of, renewed_grants
from handrail.bridge.session.prewarmed import PrewarmedProcesses
from handrail.bridge.session.process import Process
from handrail.bridge.session.prompt_help import prompt_help
from handrail.bridge.session.questions import Answer, Questions
from handrail.bridge.session.reader import MOST_TEXT, Reader, input_text
from handrail.bridge.session.recorder import Changed, Recorder
from handrail.bridge.session.recovery import find_interrupted
from handrail.bridge.session.wire_ring import WireRing
from handrail.bridge.store.base import (
    AT_REST,
    Event,
    EventLog,
    NewEvent,
    Receipt,
    SessionRecord,
    SessionWriter,
    State,
)
from handrail.client.errors import HandrailError
from handrail.client.options import Options
from handrail.client.session import Session

__all__ = ["SessionHost", "title_of"]

log = logging.getLogger("handrail.bridge")
_BUSY = frozenset({"running", "waiting_approval", "compacting"})
_QUIET = frozenset({"starting", "idle", "hibernated"})
"""Moving between these states is not an activity: the start or end of an idle process keeps the session's date."""
_CANCEL_TIMEOUT = 2.0
"""Seconds that a CLI may take to give back one queued message when a turn is stopped."""


def title_of(text: str) -> str:
    """A session's title from its first message."""
    return " ".join(text[:1000].split())[:80]


class SessionHost:
    """One session. `clock` is monotonic seconds; idle times and crashes are measured with it."""

    def __init__(
        self,
        record: SessionRecord,
        *,
        log: EventLog,
        writer: SessionWriter,
        launcher: Callable[..., Options],
        on_change: Changed = lambda record, before: None,
        on_result: Callable[[SessionHost, bytes], None] = lambda host, raw: None,
        clock: Callable[[], float] = time.monotonic,
        prewarmed: PrewarmedProcesses | None = None,
    ) -> None:
        self._launcher, self._on_result, self._clock = launcher, on_result, clock
        self.used = self.touched = clock()
        """Times of the last activity and of the last request for this host."""
        self._saying = 0
        self._recorder = Recorder(record, log, writer, on_change)
        self.questions = Questions(lambda asked: prompt_help(asked, self.record))
        self._delivery = Delivery(self.give, self._recorder.run)
        self._reader = Reader(
            self._recorder, self.questions, self._delivery, write=self._write_output, on_result=self._take_result
        )
        self._process = Process(
            self._recorder,
            options=self._options,
            write=self.write,
            take=self._take_output,
            started=self._reader.reset,
            ended=self._close_unfinished,
            clock=clock,
            prewarmed=prewarmed or PrewarmedProcesses(),
        )

    # State

    @property
    def record(self) -> SessionRecord:
        """The current record."""
        return self._recorder.record

    @property
    def feed(self) -> Feed:
        """The items that followers receive."""
        return self._recorder.feed

    @property
    def seq(self) -> int:
        """The number of the newest event that followers may have seen."""
        return self._recorder.seq

    @property
    def partial(self) -> Partial:
        """The answer that is being streamed."""
        return self._reader.partial

    @property
    def running(self) -> bool:
        """Whether there is a process."""
        return self._process.running

    @property
    def resumed(self) -> bool:
        """Whether the current or last process resumed a conversation."""
        return self._process.resumed

    @property
    def wire(self) -> WireRing:
        """The newest raw frames between the session and its CLI."""
        return self._process.wire

    @property
    def sign_ins(self) -> dict[str, str]:
        """URLs at which people sign in to MCP servers, by server name."""
        return self._process.sign_ins

    @property
    def slash_commands(self) -> list[str]:
        """The slash commands that the CLI named last."""
        return self._reader.slash_commands

    def state(self) -> State:
        """The current state, derived from the parts."""
        if self._process.starting:
            return "starting"
        if not self._process.running:
            return "failed" if self.record.error else "hibernated"
        if len(self.questions):
            return "waiting_approval"
        if self._reader.compacting:
            return "compacting"
        turns = self._reader.turns
        return "running" if turns.running or turns.pending or self._delivery.open else "idle"

    def _state_events(self) -> list[NewEvent]:
        """The event of a changed state; the record changes with it."""
        state, waiting, record = self.state(), len(self.questions), self.record
        if state == record.state and waiting == record.questions:
            return []
        events = [] if state == record.state else [event("state", state=state, error=record.error)]
        pending = self._delivery.open or self._delivery.held or self._saying
        settled = state in ("idle", "hibernated") and not pending
        active = not (state in _QUIET and record.state in _QUIET)
        self._recorder.change(
            active=active, state=state, questions=waiting, **({"settled": self.seq} if settled else {})
        )
        return events

    # Recording

    async def write(self, *events: NewEvent, receipt: Receipt | None = None) -> None:
        """Record events, and the state that results, in one transaction."""
        recorded = [*events, *self._state_events()]
        if recorded or receipt is not None:
            await self._recorder.write(recorded, receipt)

    async def record_events(self, events: list[NewEvent], receipt: Receipt | None = None) -> None:
        """Record events that change no state."""
        await self._recorder.write(events, receipt)

    async def update(self, **fields: Any) -> None:
        """Change the record; returns when it is durable."""
        await self._recorder.update(**fields)

    def change(self, **fields: Any) -> None:
        """Change the record; it is stored soon."""
        self._recorder.change(**fields)

    async def read(self, after: int, *, most_bytes: int = 2**20) -> list[Event]:
        """The stored events after a number."""
        return await self._recorder.read(after, most_bytes=most_bytes)

    # Life

    async def recover(self) -> None:
        """Load the session. Turns and questions that were open when the server died are closed, with events."""
        bounds = await self._recorder.open()
        record = self.record
        # Without a conversation id, an earlier prompt may be unconfirmed.
        after = record.settled if record.conversation else 0
        if record.state in AT_REST and after >= bounds.last:
            return
        found = find_interrupted(await self._recorder.read_all(after))
        self._process.was_used = found.delivered
        if missing := [rule for rule in found.rules if rule not in record.rules]:
            self._recorder.change(active=False, rules=[*record.rules, *missing])
        if found.conversation and not record.conversation:
            self._recorder.change(active=False, conversation=found.conversation)
        for uuid, said in found.accepted.items():
            self._delivery.add(uuid, Prompt(said["content"], said.get("priority")))
        for uuid, held in found.held.items():
            self._delivery.hold(uuid, Prompt(held["content"], held.get("priority")))
        state = found.state or record.state  # events and record are written together; older stores did not do so
        self._recorder.correct(state=state, **({} if state == "failed" else {"error": ""}))
        await self.write(*found.events())

    async def close(self) -> None:
        """End the process; no other starts, and nothing more is recorded."""
        self._process.closed = True
        await self.stop()
        await self._recorder.finish()

    async def abandon(self, why: str) -> None:
        """Another machine owns the session: end the process at once, record nothing more, cut off followers."""
        self._recorder.freeze()  # recording the end here would hide open turns and questions from the new owner
        await self._process.abandon()
        self._recorder.cancel()
        await self._recorder.finish()
        self.feed.cut(why)

    def may_hibernate(self, after: float) -> bool:
        """Whether the session has been idle, without background work, for `after` seconds."""
        busy = self.state() != "idle" or self._reader.tasks_running or self._saying
        return not busy and self._clock() - self.used >= after

    @property
    def in_use(self) -> bool:
        """Whether a client follows the session, or work is in progress."""
        process = self._process
        return bool(process.running or process.starting or self._saying or self.feed.followers or self._delivery.open)

    def is_forgettable(self, after: float = 60.0) -> bool:
        """Whether it is not in use and was not requested during the last `after` seconds."""
        return not self.in_use and not self._recorder.busy and self._clock() - self.touched >= after

    # The process

    async def start(self) -> None:
        """Ensure that a process runs and deliver the queued prompts. Raises CommandRefused if none can start."""
        self._process.stopped = False
        await self._ensure_process()
        self._delivery.start()

    async def stop(self, *, only_if: Callable[[], bool] = lambda: True) -> None:
        """End the process, if there is one; the next message starts another. All its output is persisted first."""
        await self._process.stop(only_if=only_if)

    @property
    def session(self) -> Session:
        """The SDK session of the running process. Raises CommandRefused without a process."""
        if self._process.session is None:
            raise CommandRefused("not_running", "the session is not running; send it a message first")
        return self._process.session

    async def _ensure_process(self) -> None:
        self.used = self._clock()
        await self._process.ensure()

    def _options(self, resumes: bool) -> Options:  # noqa: FBT001
        reply = self.questions.reply
        options = self._launcher(self.record, resumes=resumes)
        return msgspec.structs.replace(options, can_use_tool=reply, on_elicitation=reply)

    async def _take_output(self, items: list[Any]) -> None:
        self.used = self._clock()
        await self._reader.take(items)

    async def _write_output(self, events: list[NewEvent]) -> None:
        recorded = [*events, *self._state_events()]
        await self._recorder.write_output(recorded, give_up=lambda: self._process.ending)

    def _take_result(self, raw: bytes) -> None:
        self._on_result(self, raw)
        if (session := self._process.session) is not None:
            self._recorder.change(cost=session.meter.total_cost_usd)

    def _close_unfinished(self, why: str, how: dict[str, Any]) -> list[NewEvent]:
        """After the process ended: close its questions, mark its prompts as doubted, and replace the missing result."""
        # By the recorded state: the process is already known to have ended, so the derived one says "hibernated".
        busy, in_turn = self.record.state in _BUSY, bool(self._reader.turns.running)
        self._reader.reset()
        crashed = {"interrupted": True} if why else {}
        events = self.questions.close_all("the process ended", **crashed)
        events += [event("doubted", uuid=uuid) for uuid in self._delivery.take_unconfirmed()]
        if busy and (why or in_turn):
            events.append(missing_result(why or "the process was ended during the turn", **how))
        return events

    # Messages of the user

    async def say(
        self, uuid: str, prompt: Prompt, by: str, receipt: Receipt | None = None, *, replaces: str = ""
    ) -> None:
        """Accept a message: once this returns it is durable, and is delivered as soon as there is a process.

        `replaces` is the uuid of a held message that it takes the place of.
        """
        self._delivery.check_room()
        content, urgent = prompt.content, {"priority": prompt.priority} if prompt.priority else {}
        text = content if isinstance(content, str) else " ".join(str(part.get("text", "")) for part in content)
        self._saying += 1
        try:
            if not self.record.title and (title := title_of(text)):
                self._recorder.change(title=title)
            said = event("said", text, uuid=uuid, content=content, by=by, **urgent)
            await self._recorder.write([*([event("withdrawn", uuid=replaces)] if replaces else []), said], receipt)
            self.used = self._clock()
            self._process.stopped = False
            self._delivery.put(uuid, prompt)
        finally:
            self._saying -= 1

    async def give(self, uuid: str, prompt: Prompt) -> None:
        """Deliver a queued message, starting a process if needed. Raises CommandRefused if none can start."""
        await self._ensure_process()
        if self._delivery.queued[:1] != [uuid]:  # taken back meanwhile, or a more urgent one arrived
            return None
        await self.write(event("handed", uuid=uuid))
        # The process may have ended before the prompt was written.
        while (session := self._process.session) is None or self._process.ending:
            await self._ensure_process()
        if session.has_sent(uuid) and self._delivery.remove(uuid) is not None:
            return await self.write(event("withdrawn", uuid=uuid, why="its uuid was used before"))
        if not self._delivery.hand_over(uuid):
            return None
        self._reader.turns.send(uuid)
        self._process.was_used = True
        try:
            await session.send(prompt.content, uuid=uuid, priority=prompt.priority)
        except HandrailError:  # the process has just ended
            if self._delivery.settle(uuid):
                await self.write(event("doubted", uuid=uuid))

    @property
    def waiting(self) -> list[str]:
        """The messages that no process has been given yet, in delivery order."""
        return self._delivery.queued

    async def hold_queued(self) -> None:
        """Hold all messages that the CLI has not begun with, so that the end of this turn does not start another."""
        held: dict[str, Prompt] = {}
        for uuid, prompt in self._delivery.unconfirmed.items():
            with contextlib.suppress(HandrailError):  # a CLI that does not answer must not keep the turn from ending
                if await self._cancel_in_cli(uuid, timeout=_CANCEL_TIMEOUT):
                    held[uuid] = prompt
        held |= {uuid: prompt for uuid in self._delivery.queued if (prompt := self._delivery.remove(uuid))}
        for uuid, prompt in held.items():
            self._delivery.hold(uuid, prompt)
        await self.write(
            *(event("held", uuid=uuid, content=one.content, priority=one.priority) for uuid, one in held.items())
        )

    async def send_held(self, uuid: str, new: str, by: str, receipt: Receipt | None = None) -> None:
        """Send a held message, under a new uuid: the CLI was given the old one before."""
        prompt = self._delivery.release(uuid)
        if prompt is None:
            raise CommandRefused("not_held", f"message {uuid} is not held; it was sent or cancelled")
        try:
            await self.say(new, prompt, by, receipt, replaces=uuid)
        except HandrailError:
            self._delivery.hold(uuid, prompt)
            raise

    async def withdraw(self, uuid: str, receipt: Receipt | None = None) -> bool:
        """Take back a message that the CLI has not begun with; False if it is too late."""
        held, queued = self._delivery.release(uuid), self._delivery.remove(uuid)
        if held is None and queued is None and not await self._cancel_in_cli(uuid):
            return False
        try:
            await self.write(event("withdrawn", uuid=uuid), receipt=receipt)
        except HandrailError:  # not recorded as withdrawn, so it stays
            if queued is not None:
                self._delivery.add(uuid, queued)
            if held is not None:
                self._delivery.hold(uuid, held)
            raise
        return True

    async def interrupt_turn(self, uuid: str) -> bool:
        """Interrupt the turn of a message that could not be withdrawn; False if it has ended.

        The CLI has begun with such a message, even if it has not reported that yet.
        """
        session = self._process.session
        if session is None or not session.is_open(uuid):
            return False
        await session.interrupt()
        return True

    async def _cancel_in_cli(self, uuid: str, *, timeout: float | None = None) -> bool:
        session = self._process.session
        cancelled = session is not None and (await session.cancel_async_message(uuid, timeout=timeout)).cancelled
        if cancelled:
            self._delivery.settle(uuid)
        return cancelled

    # Questions

    async def answer(self, id: str, shown: str, answer: Answer, by: str, receipt: Receipt | None = None) -> None:
        """Answer a question. The answer is durable before the CLI receives it."""
        claimed = self.questions.claim(id, shown, answer)
        rules, before = claimed.verdict.rules, self.record.rules
        if rules:
            self._recorder.change(rules=[*before, *rules])
        given, edited = msgspec.to_builtins(answer), input_text(answer.input or {})[:MOST_TEXT]
        try:
            answered = event("answered", edited, question=id, by=by, answer=given, granted=rules)
            await self.write(answered, receipt=receipt)
        except HandrailError:
            self.questions.put_back(claimed)
            if rules:
                self._recorder.change(rules=before)
            self._state_events()
            raise
        # The answer is durable from here on, so the CLI gets it even if the queued messages cannot be held.
        try:
            if answer.interrupt:
                await self.hold_queued()
        except HandrailError as error:
            log.error("session %s: the queued messages were not recorded as held: %s", self.record.id, error)
        finally:
            self.questions.deliver(claimed, by)

    async def renew_grants(self) -> list[str]:
        """Grant the permissions that lapsed with the last process to the next one; return the rules."""
        if self.state() not in ("idle", "hibernated", "failed"):
            raise CommandRefused("busy", "a turn is running; wait until it ends")
        granted = renewed_grants(self.record, running=self.running)
        chosen = options_of(granted)
        Options(**chosen)  # reject an invalid rule now, because no process would start with it
        if granted:
            await self.stop()
            await self.update(options={**self.record.options, "granted": granted}, lapsed=[])
        return [rule for rules in chosen.values() for rule in rules]
