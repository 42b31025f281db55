"""The table of commands. From it come the checks of scopes, the JSON schema and the types of the page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, Literal, get_type_hints
from uuid import NAMESPACE_OID, uuid5

import msgspec
from msgspec import Struct

from handrail.bridge.store.base import Receipt

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge

__all__ = ["SCOPES", "TABLE", "Call", "Command", "Scope", "command", "done", "refused"]

JsonObject = dict[str, Any]
Scope = Literal["view", "prompt", "approve", "admin"]
SCOPES: Final[tuple[Scope, ...]] = ("view", "prompt", "approve", "admin")


class Call(Struct, frozen=True):
    """One command on its way. `by` names the device for people; `key` is its id, unlike that of any other device."""

    key: str
    by: str
    scopes: frozenset[str]

    @property
    def device(self) -> str:
        """The id of the device."""
        return self.key.partition("/")[0]

    @property
    def session(self) -> str:
        """The id of the session that this command makes, where it makes one: the same command makes the same."""
        return str(uuid5(NAMESPACE_OID, f"handrail session {self.key}"))

    def receipt(self, answer: JsonObject | None = None) -> Receipt:
        """The receipt that goes on record with what the command changes."""
        return Receipt(self.key, done(answer or {}))


Run = Callable[["Bridge", Call, Any], Awaitable[JsonObject | None]]


class Command(Struct, frozen=True):
    """A row of the table.

    keeps  it puts its receipt on record by itself, with what it changes
    reads  it changes nothing: its receipt is not kept, and the same id asks anew
    """

    name: str
    scope: Scope
    fields: type[Struct]
    run: Run
    keeps: bool = False
    reads: bool = False


TABLE: Final[dict[str, Command]] = {}


def command(name: str, scope: Scope, *, keeps: bool = False, reads: bool = False) -> Callable[[Run], Run]:
    """Put a function into the table. Its third parameter says which fields the command has."""

    def enter(run: Run) -> Run:
        fields = get_type_hints(run, localns={"Bridge": object})["fields"]
        TABLE[name] = Command(name, scope, fields, run, keeps, reads)
        return run

    return enter


def done(answer: JsonObject) -> bytes:
    """The receipt of a command that was done."""
    return msgspec.json.encode({"ok": True, "result": answer})


def refused(code: str, message: str) -> bytes:
    """The receipt of one that was not."""
    return msgspec.json.encode({"ok": False, "error": {"code": code, "message": message}})
