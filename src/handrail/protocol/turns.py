"""Which turn a message belongs to.

A turn goes from a prompt to its result, but one prompt is not one turn. The CLI may merge queued prompts into one turn,
fold a prompt into the running turn, and start turns itself (after a background task has ended). So each prompt
carries a `uuid`, and the CLI reports its fate by `command_lifecycle`:

    state      on                        becomes
    ────────   ───────────────────────   ─────────────────────────────────────────────
    sent       lifecycle queued          queued
    sent       init, assistant, …        running   (a CLI that sends no command_lifecycle)
    queued     lifecycle started         running   (merged or folded: with the running turns)
    queued     lifecycle cancelled       cancelled
    running    result                    ended     (turns that run together share the result)
    any        end of stream             lost

While a turn runs, every message belongs to it. A line of a subagent, which has a `parent_tool_use_id`, never begins or
ends a turn.
"""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.protocol.frames import Message

__all__ = ["Step", "TurnTable", "is_of_subagent"]

_BEGINNING = frozenset({"assistant", "stream_event"})


class Step(msgspec.Struct, frozen=True):
    """The turns that one message belongs to, and those that it begins, ends or cancels."""

    turns: tuple[str, ...] = ()
    began: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    cancelled: tuple[str, ...] = ()


class _Lifecycle(msgspec.Struct):
    command_uuid: str = ""
    state: str = ""


class _Result(msgspec.Struct):
    user_message_uuids: list[str] | None = None
    user_message_uuid: str | None = None


class _Nested(msgspec.Struct):
    parent_tool_use_id: Any = None


_nested = msgspec.json.Decoder(_Nested)


def is_of_subagent(message: Message) -> bool:
    """Whether a line belongs to a subagent rather than to the main conversation."""
    try:
        return _nested.decode(message.raw).parent_tool_use_id is not None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False


class TurnTable:
    """The turns of one session. A turn's id is the uuid of its prompt; turns that the CLI starts are `cli_1`, …"""

    def __init__(self) -> None:
        self._pending: dict[str, None] = {}
        self._running: tuple[str, ...] = ()
        self._step = Step()
        self._has_lifecycle = False
        self._unasked = 0

    @property
    def running(self) -> tuple[str, ...]:
        """The running turns; several where prompts were merged."""
        return self._running

    @property
    def pending(self) -> tuple[str, ...]:
        """The prompts that were sent and have not started."""
        return tuple(self._pending)

    def send(self, uuid: str) -> None:
        """Enter a prompt that is sent now."""
        self._pending[uuid] = None

    def withdraw(self, uuid: str) -> None:
        """Enter that a prompt was not sent after all."""
        self._pending.pop(uuid, None)

    def receive(self, message: Message) -> Step:
        """Enter a message."""
        kind = message.type
        if kind == "command_lifecycle":
            return self._lifecycle(message)
        if kind == "result":
            return self._step if is_of_subagent(message) else self._result(message)
        if not self._running and self._begins(message):
            return self._begin_next()
        return self._step

    def close(self) -> tuple[str, ...]:
        """Enter the end of the stream. Returns the turns that get no result."""
        lost = (*self._running, *self._pending)
        self._pending.clear()
        self._run(())
        return lost

    def _begins(self, message: Message) -> bool:
        """Whether an unannounced turn begins with this message."""
        if message.type == "system":
            return message.subtype == "init" and not is_of_subagent(message)
        return message.type in _BEGINNING and not self._has_lifecycle and not is_of_subagent(message)

    def _run(self, turns: tuple[str, ...]) -> None:
        self._running, self._step = turns, Step(turns)

    def _lifecycle(self, message: Message) -> Step:
        self._has_lifecycle = True
        try:
            event = msgspec.json.decode(message.raw, type=_Lifecycle)
        except msgspec.DecodeError:
            return self._step
        uuid, known = event.command_uuid, event.command_uuid in self._pending
        if event.state == "started" and known:
            del self._pending[uuid]
            self._run((*self._running, uuid))
            return Step(self._running, began=(uuid,))
        if event.state in ("cancelled", "completed") and known:
            del self._pending[uuid]
            return Step((*self._running, uuid), cancelled=(uuid,))
        return Step((*self._running, uuid)) if known else self._step

    def _begin_next(self) -> Step:
        if self._pending and not self._has_lifecycle:
            turn = next(iter(self._pending))
            del self._pending[turn]
        else:
            self._unasked += 1
            turn = f"cli_{self._unasked}"
        self._run((turn,))
        return Step(self._running, began=self._running)

    def _result(self, message: Message) -> Step:
        began = tuple(uuid for uuid in _prompts_of(message) if uuid in self._pending)
        for uuid in began:
            del self._pending[uuid]
        turns = (*self._running, *began)
        if not turns:
            step = self._begin_next()
            turns = began = step.turns
        self._run(())
        return Step(turns, began=began, ended=turns)


def _prompts_of(message: Message) -> list[str]:
    try:
        result = msgspec.json.decode(message.raw, type=_Result)
    except msgspec.DecodeError:
        return []
    return result.user_message_uuids or ([result.user_message_uuid] if result.user_message_uuid else [])
