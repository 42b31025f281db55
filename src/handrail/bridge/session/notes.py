"""What a line of the CLI about itself changes. In: a `system` message, a record. Out: what is different now. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct, field

from handrail.bridge.store.index_base import SessionRecord
from handrail.protocol import Message

__all__ = ["Noted", "note"]

JsonObject = dict[str, Any]
_TOLD_BY_INIT = {"conversation": "session_id", "model": "model", "mode": "permissionMode"}


class Noted(Struct, frozen=True):
    """What is different: fields of the record, whether it compacts, whether tasks run. None: nothing was said of it."""

    fields: JsonObject = field(default_factory=dict[str, Any])
    compacting: bool | None = None
    tasks: bool | None = None


def note(message: Message, record: SessionRecord) -> Noted:
    """Read a line."""
    read = _READERS.get(message.subtype) if message.type == "system" else None
    if read is None:
        return Noted()
    try:
        line: Any = msgspec.json.decode(message.raw)
    except msgspec.MsgspecError:
        return Noted()
    noted = read(line)
    changed = {name: value for name, value in noted.fields.items() if value and getattr(record, name) != value}
    return msgspec.structs.replace(noted, fields=changed)


def _init(line: JsonObject) -> Noted:
    return Noted({name: _text(line.get(told)) for name, told in _TOLD_BY_INIT.items()})


def _status(line: JsonObject) -> Noted:
    return Noted({"mode": _text(line.get("permissionMode"))}, compacting=line.get("status") == "compacting")


def _tasks(line: JsonObject) -> Noted:
    return Noted(tasks=bool(line.get("tasks")))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


_READERS: Mapping[str | None, Callable[[JsonObject], Noted]] = {
    "init": _init,
    "status": _status,
    "background_tasks_changed": _tasks,
}
