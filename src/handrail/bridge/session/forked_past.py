"""The history of a session as events of a fork: the conversation with its answers, up to a message. Pure.

The copies are marked `imported` and carry the time of the original. State, costs, queued messages and granted
permissions belong to the origin and are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from handrail.bridge.session.reader import input_text, searchable_text
from handrail.bridge.store.base import Event, NewEvent
from handrail.schema.messages import read_message

__all__ = ["forked_past"]

JsonObject = dict[str, Any]
_SYSTEM: Final = frozenset({"compact_boundary", "permission_denied", "model_fallback", "informational"})
_COSTS: Final = frozenset({"total_cost_usd", "modelUsage", "model_usage_since_last_result", "usage"})
_BEGUN: Final = frozenset({"started", "completed"})


def forked_past(events: Iterable[Event], through: str | None = None) -> list[NewEvent] | None:
    """The copied events, all or through the message with this uuid; None if that message is not among them."""
    past = _Past(through)
    for one in events:
        past.take(one)
        if past.complete:
            break
    return past.copies() if past.complete or through is None else None


class _Past:
    def __init__(self, through: str | None) -> None:
        self._through = through
        self.complete = False
        self._copied: list[tuple[str, NewEvent]] = []
        """Each with the id of the question that it opens, or ""."""
        self._waiting: dict[str, JsonObject] = {}
        """Messages of the user that the CLI has not begun with."""
        self._delivered: list[str] = []
        self._in_turn = False
        self._open: set[str] = set()
        self._kinds: Mapping[str, Callable[[JsonObject, int], None]] = {
            "said": self._said,
            "handed": self._handed,
            "doubted": lambda fields, time: self._begin(str(fields["uuid"]), time),
            "withdrawn": self._drop,
            "held": self._drop,
            "frame": self._frame,
            "asked": self._asked,
            "answered": self._answered,
            "closed": self._closed,
            "rewound": lambda fields, time: self._copy("rewound", fields, time),
        }

    def take(self, one: Event) -> None:
        if take := self._kinds.get(one.kind):
            take(msgspec.json.decode(one.data), one.time)

    def copies(self) -> list[NewEvent]:
        """The copied events, without questions that were open at the end."""
        return [copied for question, copied in self._copied if question not in self._open]

    def _copy(self, kind: str, fields: JsonObject, time: int, text: str = "", *, question: str = "") -> None:
        written = datetime.fromtimestamp(time / 1000, UTC).isoformat(timespec="milliseconds")
        data = {"timestamp": written, **fields, "imported": True}
        self._copied.append((question, NewEvent(kind, msgspec.json.encode(data), text)))
        self.complete = self._through is not None and kind == "frame" and fields.get("uuid") == self._through

    # Messages of the user

    def _said(self, fields: JsonObject, time: int) -> None:
        self._waiting[str(fields["uuid"])] = fields

    def _drop(self, fields: JsonObject, time: int) -> None:
        self._waiting.pop(str(fields["uuid"]), None)

    def _handed(self, fields: JsonObject, time: int) -> None:
        uuid = str(fields["uuid"])
        if self._in_turn:
            self._delivered.append(uuid)  # it begins when the CLI says so, or with the next turn
        else:
            self._in_turn = True
            self._begin(uuid, time)

    def _begin(self, uuid: str, time: int) -> None:
        if said := self._waiting.pop(uuid, None):
            message = {"role": "user", "content": said["content"]}
            line = {"type": "user", "message": message, "uuid": uuid, "parent_tool_use_id": None}
            self._copy_line(line, time)

    # Lines of the CLI

    def _copy_line(self, line: JsonObject, time: int) -> None:
        raw = msgspec.json.encode(line)
        text = searchable_text(read_message(str(line["type"]), str(line.get("subtype", "")), raw))
        self._copy("frame", line, time, text)

    def _frame(self, line: JsonObject, time: int) -> None:
        kind, subtype = line.get("type"), line.get("subtype")
        if kind == "command_lifecycle" and line.get("state") in _BEGUN:
            self._begin(str(line.get("command_uuid")), time)
        elif kind == "user" and line.get("isReplay"):
            self._begin(str(line.get("uuid")), time)
        elif kind == "result" and not line.get("parent_tool_use_id"):
            self._in_turn = False
            self._copy_line({name: value for name, value in line.items() if name not in _COSTS}, time)
        elif kind in ("assistant", "user") or (kind == "system" and subtype in _SYSTEM):
            if not self._in_turn and self._delivered and not line.get("imported"):
                self._in_turn = True
                self._begin(self._delivered.pop(0), time)
            self._copy_line(line, time)

    # Questions

    def _asked(self, fields: JsonObject, time: int) -> None:
        question = str(fields["question"])
        self._open.add(question)
        self._copy("asked", {**fields, "suggestions": []}, time, question=question)

    def _answered(self, fields: JsonObject, time: int) -> None:
        self._open.discard(str(fields["question"]))
        answer: JsonObject = fields.get("answer") or {}
        edited: JsonObject = answer.get("input") or {}
        self._copy("answered", {**fields, "granted": []}, time, input_text(edited))

    def _closed(self, fields: JsonObject, time: int) -> None:
        self._open.discard(str(fields["question"]))
        # An interrupted question offers to run its turn again, which only the origin can.
        self._copy("closed", {name: value for name, value in fields.items() if name != "interrupted"}, time)
