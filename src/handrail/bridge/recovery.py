"""What became of a session whose server was cut off. In: its events since all was settled. Out: what is still open.
Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct, field

from handrail.bridge.delivery import begun
from handrail.bridge.event_log.base import Event, NewEvent
from handrail.bridge.events import event, no_result

__all__ = ["Interrupted", "look_back"]

JsonObject = dict[str, Any]
_BUSY = frozenset({"running", "waiting_approval", "compacting"})


class Interrupted(Struct):
    """What a session was doing when its server went away.

    accepted      messages that were never written to the CLI: they wait
    doubtful      messages of which nobody knows whether the CLI had them
    questions     those that were open: nobody waits for their answer any more
    in_turn       a turn ran: it will have no result
    handed        the CLI was given something
    conversation  the name that the CLI gave it, where it did
    """

    accepted: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    doubtful: list[str] = field(default_factory=list[str])
    questions: list[str] = field(default_factory=list[str])
    in_turn: bool = False
    handed: bool = False
    conversation: str = ""

    def events(self) -> list[NewEvent]:
        """What is told of it: questions are closed, messages doubted, the turn has a result in place of its own."""
        closed = [event("closed", question=id, why="the server was restarted") for id in self.questions]
        doubted = [event("doubted", uuid=uuid) for uuid in self.doubtful]
        ended = [no_result("the server was restarted in the middle of the turn")] if self.in_turn else []
        return [*closed, *doubted, *ended]


class _Frame(Struct):
    type: str = ""
    subtype: str | None = None
    session_id: str | None = None


def look_back(events: Iterable[Event]) -> Interrupted:
    """Read what happened, and see what never ended."""
    found, handed, questions = Interrupted(), dict[str, None](), dict[str, None]()
    for one in events:
        if one.kind == "frame":
            _read_frame(one.data, handed, found)
            continue
        fields: JsonObject = msgspec.json.decode(one.data)
        uuid, question = str(fields.get("uuid", "")), str(fields.get("question", ""))
        if one.kind == "said":
            found.accepted[uuid] = fields
        elif one.kind == "handed":
            found.accepted.pop(uuid, None)
            handed[uuid] = None
            found.handed = True
        elif one.kind in ("withdrawn", "doubted"):
            found.accepted.pop(uuid, None)
            handed.pop(uuid, None)
        elif one.kind == "asked":
            questions[question] = None
        elif one.kind in ("answered", "closed"):
            questions.pop(question, None)
        elif one.kind == "state":
            found.in_turn = fields.get("state") in _BUSY
        elif one.kind == "crashed":
            found.in_turn = False
    found.doubtful, found.questions = list(handed), list(questions)
    return found


def _read_frame(raw: bytes, handed: dict[str, None], found: Interrupted) -> None:
    """A line of the CLI may say that it has a message, or that a turn is over."""
    try:
        frame = msgspec.json.decode(raw, type=_Frame)
    except msgspec.MsgspecError:
        return
    if frame.type == "result":
        found.in_turn = False
    elif frame.type == "system" and frame.subtype == "init":
        found.conversation = frame.session_id or ""
    elif uuid := begun(frame.type, raw):
        handed.pop(uuid, None)
