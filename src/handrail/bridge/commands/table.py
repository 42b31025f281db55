"""The command table, and the field types that several commands share.

Scope checks, the JSON Schema and the page's types are generated from the table.

A handler is a method of a class whose constructor takes the parts that its commands need:

    class PromptCommands:
        def __init__(self, sessions: Sessions, uploads: Uploads, audit: AuditCall) -> None: ...

        @command("send", "prompt", keeps=True)
        async def send(self, call: Call, fields: Send) -> JsonObject: ...

`rows_of` reads the rows from the classes, `bind` finds the methods of their instances.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Annotated, Any, Final, Literal, Protocol, TypeVar, get_type_hints
from uuid import NAMESPACE_OID, uuid5

import msgspec
from msgspec import Meta, Struct

from handrail.bridge.store.base import Receipt

__all__ = [
    "SCOPES",
    "Agent",
    "AuditCall",
    "Call",
    "Command",
    "Effort",
    "Fields",
    "Handler",
    "Id",
    "Mode",
    "Model",
    "Name",
    "OfSession",
    "Path",
    "Scope",
    "Style",
    "Text",
    "Tokens",
    "bind",
    "command",
    "done",
    "refused",
    "rows_of",
]

JsonObject = dict[str, Any]
Scope = Literal["view", "prompt", "approve", "admin"]
SCOPES: Final[tuple[Scope, ...]] = ("view", "prompt", "approve", "admin")
_ROW: Final = "_handrail_command"


class Call(Struct, frozen=True):
    """One received command. `key` is unique across devices; `by` is the device's display name."""

    key: str
    by: str
    scopes: frozenset[str]

    @property
    def device(self) -> str:
        """The id of the device."""
        return self.key.partition("/")[0]

    @property
    def session(self) -> str:
        """The id of the session this command creates, if any. Derived from `key`, so a retry creates the same one."""
        return str(uuid5(NAMESPACE_OID, f"handrail session {self.key}"))

    @property
    def message(self) -> str:
        """The uuid of the message this command sends, unless the client chose one. Derived from `key` as well."""
        return str(uuid5(NAMESPACE_OID, f"handrail message {self.key}"))

    def receipt(self, answer: JsonObject | None = None) -> Receipt:
        """The receipt to persist together with the effect of the command."""
        return Receipt(self.key, done(answer or {}))


class AuditCall(Protocol):
    """Appends to the audit log."""

    async def __call__(self, call: Call, what: str, **fields: Any) -> None:
        """Return once the row is on disk. A full disk is logged and does not fail the command."""
        ...


class Command(Struct, frozen=True):
    """A row of the table.

    keeps  the handler persists the receipt itself, in one transaction with its effect
    reads  the command changes nothing: its receipt is not persisted, and the same id runs it again
    """

    name: str
    scope: Scope
    fields: type[Struct]
    keeps: bool = False
    reads: bool = False


Handler = Callable[[Call, Any], Awaitable[JsonObject | None]]
Method = TypeVar("Method", bound=Callable[..., Awaitable[JsonObject | None]])


def command(name: str, scope: Scope, *, keeps: bool = False, reads: bool = False) -> Callable[[Method], Method]:
    """Mark a method as the handler of a command. The annotation of its `fields` parameter is the type of the fields."""

    def mark(method: Method) -> Method:
        row = Command(name, scope, get_type_hints(method)["fields"], keeps, reads)
        setattr(method, _ROW, row)
        return method

    return mark


def _marked(theme: type) -> Iterable[tuple[str, Command]]:
    for attribute, value in vars(theme).items():
        if isinstance(row := getattr(value, _ROW, None), Command):
            yield attribute, row


def rows_of(*themes: type) -> dict[str, Command]:
    """The rows of handler classes, by command name."""
    return {row.name: row for theme in themes for _, row in _marked(theme)}


def bind(*handlers: object) -> dict[str, Handler]:
    """The bound method of each command, by command name."""
    return {row.name: getattr(one, attribute) for one in handlers for attribute, row in _marked(type(one))}


def done(answer: JsonObject) -> bytes:
    """The receipt of a command that succeeded."""
    return msgspec.json.encode({"ok": True, "result": answer})


def refused(code: str, message: str) -> bytes:
    """The receipt of a command that was refused."""
    return msgspec.json.encode({"ok": False, "error": {"code": code, "message": message}})


# Fields, with their limits

Id = Annotated[str, Meta(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
Path = Annotated[str, Meta(min_length=1, max_length=4096, pattern=r"^[^\x00]+$")]
Model = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][\w.:/\[\]-]{0,127}$")]
Agent = Annotated[str, Meta(max_length=64, pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]*)?$")]
Text = Annotated[str, Meta(max_length=1_000_000)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Mode = Literal["default", "acceptEdits", "plan", "dontAsk", "auto", "manual", "bypassPermissions"]
Effort = Literal["low", "medium", "high", "xhigh", "max"]
Style = Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")]
Tokens = Annotated[int, Meta(ge=0, le=1_000_000)]


class Fields(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The fields of a command. Unknown fields are refused."""


class OfSession(Fields, frozen=True, kw_only=True):
    """A session."""

    session: Id
