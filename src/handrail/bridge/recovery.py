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
from handrail.bridge.session_index.base import State

__all__ = ["Interrupted", "look_back"]

JsonObject = dict[str, Any]
_BUSY = frozenset({"running", "waiting_approval", "compacting"})


class Interrupted(Struct):
    """What a session was doing when its server went away.

    accepted      messages that were never written to the CLI: they wait
    doubtful      messages of which nobody knows whether the CLI had them
    questions     those that were open: nobody waits for their answer any more
    state         the last one that was told; None where none was
    in_turn       a turn ran: it will have no result
    handed        the CLI was given something
    rules         what was granted for the session and is in force until a process starts
    conversation  the name that the CLI gave it, where it did
    """

    accepted: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    doubtful: list[str] = field(default_factory=list[str])
    questions: list[str] = field(default_factory=list[str])
    state: State | None = None
    in_turn: bool = False
    handed: bool = False
    rules: list[JsonObject] = field(default_factory=list[JsonObject])
    conversation: str = ""

    def events(self) -> list[NewEvent]:
        """What is told of it: questions are closed, messages doubted, the turn has a result in place of its own."""
        closed = [event("closed", question=id, why="the server was restarted", interrupted=True) for id in self.questions]
        doubted = [event("doubted", uuid=uuid) for uuid in self.doubtful]
        ended = [no_result("the server was restarted in the middle of the turn")] if self.in_turn else []
        return [*closed, *doubted, *ended]


class _Frame(Struct):
    type: str = ""
    subtype: str | None = None
    session_id: str | None = None
    state: Any = None


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
            found.rules += fields.get("granted", ())
        elif one.kind == "started":
            found.rules.clear()
        elif one.kind == "state":
            found.state = fields.get("state")
            found.in_turn = found.state in _BUSY
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
        found.in_turn = True  # where messages wait one turn follows another, and the state stays the same
    elif uuid := begun(frame.type, raw):
        found.in_turn = found.in_turn or frame.state == "started"
        handed.pop(uuid, None)
