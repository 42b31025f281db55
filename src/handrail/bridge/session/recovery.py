"""The state of a session whose server died, read from its events. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct, field

from handrail.bridge.session.delivery import begun_prompt
from handrail.bridge.session.events import event, missing_result
from handrail.bridge.store.base import Event, NewEvent, State
from handrail.schema.activity_messages import CommandLifecycleMessage
from handrail.schema.messages import read_message

__all__ = ["Interrupted", "find_interrupted"]

JsonObject = dict[str, Any]
_BUSY = frozenset({"running", "waiting_approval", "compacting"})


class Interrupted(Struct):
    """The unfinished parts of a session.

    accepted      prompts that were never written to the CLI: they are queued again
    held          prompts that wait for the user since a turn was stopped
    doubtful      prompts that were written to the CLI without its confirmation
    questions     open questions, for which no process waits any more
    state         the last recorded state, or None
    in_turn       a turn was running; its result will not arrive
    delivered     the CLI was given at least one prompt
    rules         permissions granted since the last process started
    conversation  the id that the CLI gave the conversation, if it did
    """

    accepted: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    held: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    doubtful: list[str] = field(default_factory=list[str])
    questions: list[str] = field(default_factory=list[str])
    state: State | None = None
    in_turn: bool = False
    delivered: bool = False
    rules: list[JsonObject] = field(default_factory=list[JsonObject])
    conversation: str = ""

    def events(self) -> list[NewEvent]:
        """The events that close what was open: questions, prompts, the turn."""
        why = "the server was restarted"
        closed = [event("closed", question=id, why=why, interrupted=True) for id in self.questions]
        doubted = [event("doubted", uuid=uuid) for uuid in self.doubtful]
        ended = [missing_result("the server was restarted during the turn")] if self.in_turn else []
        return [*closed, *doubted, *ended]


def find_interrupted(events: Iterable[Event]) -> Interrupted:
    """Find the unfinished prompts, questions and turns in ordered events."""
    found, delivered, questions = Interrupted(), dict[str, None](), dict[str, None]()
    for one in events:
        if one.kind == "frame":
            _read_frame(one.data, delivered, found)
            continue
        fields: JsonObject = msgspec.json.decode(one.data)
        uuid, question = str(fields.get("uuid", "")), str(fields.get("question", ""))
        if one.kind == "said":
            found.accepted[uuid] = fields
        elif one.kind == "handed":
            found.accepted.pop(uuid, None)
            delivered[uuid] = None
            found.delivered = True
        elif one.kind in ("withdrawn", "doubted", "held"):
            found.accepted.pop(uuid, None)
            found.held.pop(uuid, None)
            delivered.pop(uuid, None)
            if one.kind == "held":
                found.held[uuid] = fields
        elif one.kind == "asked":
            questions[question] = None
        elif one.kind in ("answered", "closed"):
            questions.pop(question, None)
            found.rules += fields.get("granted", ())
        elif one.kind == "started":
            found.rules.clear()
        elif one.kind == "state":
            found.state = fields.get("state")
            found.in_turn = found.state in _BUSY
        elif one.kind == "crashed":
            found.in_turn = False
    found.doubtful, found.questions = list(delivered), list(questions)
    return found


class _Envelope(Struct):
    """The fields needed of every line; a full view is decoded only for lines that may confirm a prompt."""

    type: str = ""
    subtype: str | None = None
    session_id: str | None = None
    parent_tool_use_id: str | None = None


def _read_frame(raw: bytes, delivered: dict[str, None], found: Interrupted) -> None:
    """A line of the CLI may confirm a prompt, name the conversation, or end the turn."""
    try:
        kind = msgspec.json.decode(raw, type=_Envelope)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return
    if kind.parent_tool_use_id and kind.type in ("system", "result"):
        return  # about a subagent
    if kind.type == "result":
        found.in_turn = False
        return
    if kind.type == "system" and kind.subtype == "init":
        found.conversation = kind.session_id or ""
        found.in_turn = True  # queued prompts follow one another without a change of state in between
        return
    view = read_message(kind.type, kind.subtype or "", raw)
    if uuid := begun_prompt(view):
        found.in_turn = found.in_turn or (isinstance(view, CommandLifecycleMessage) and view.state == "started")
        delivered.pop(uuid, None)
