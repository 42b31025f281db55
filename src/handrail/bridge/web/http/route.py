"""The table of routes. From it come the router, the checks of scopes, the OpenAPI document and the tests.

A route says what it needs and what it takes; the guard keeps to that before anything of a route runs.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
from msgspec import Struct
from starlette.responses import Response

from handrail.bridge.commands.table import Scope
from handrail.bridge.store.audit import Audit
from handrail.bridge.web.devices import Device

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge
    from handrail.bridge.web.app import App

__all__ = [
    "NOBODY",
    "PARTS",
    "TABLE",
    "Anything",
    "Asked",
    "Nothing",
    "Refused",
    "Route",
    "find",
    "json_answer",
    "read_query",
    "route",
    "status_of",
]

Takes = Literal["json", "bytes"]
MOST_BYTES: Final = 1024 * 1024
NOBODY: Final = Device("", "", "program", frozenset(), 0, 0)
PARTS: Final = {
    "id": r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "seq": r"[1-9][0-9]{0,9}",
    "device": r"[0-9a-f]{16}",
}
"""What may stand in a path for a name in braces."""


STATUS: Final = {
    "forbidden": 403,
    "not_found": 404,
    "unknown_command": 404,
    "bad_fields": 400,
    "bad_file": 400,
    "bad_folder": 400,
    "bad_scope": 400,
    "empty": 400,
    "no_picture": 415,
    "too_large": 413,
    "too_many": 429,
    "failed": 503,
    "cluster_away": 503,
    "unreachable": 503,
    "no_machine": 503,
    "cli": 502,
}


class Refused(Exception):
    """A request that is not answered as it was meant: the status, a word for programs, a sentence for people."""

    def __init__(self, status: int, code: str, message: str, **headers: str) -> None:
        self.status, self.code, self.message = status, code, message
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        super().__init__(message)

    @property
    def body(self) -> bytes:
        """As JSON."""
        return msgspec.json.encode({"error": {"code": self.code, "message": self.message}})


class Nothing(Struct, frozen=True, forbid_unknown_fields=True):
    """No fields."""


class Anything(Struct, frozen=True):
    """Whatever fields there are, they are not looked at."""


class Asked(Struct, frozen=True, kw_only=True):
    """A request that was let in. `query` and `body` are what the route's own types say; `parts` are from the path."""

    app: App
    device: Device
    parts: dict[str, str]
    query: Any
    body: Any
    address: str = ""
    agent: str = ""
    cookie: str = ""
    secure: bool = False
    unchanged: str = ""
    encodings: str = ""

    @property
    def bridge(self) -> Bridge:
        """The server without its sockets."""
        return self.app.bridge

    async def note(self, what: str, *, by: Device | None = None, **fields: Any) -> None:
        """Write into the audit log what is done, and by whom. It is on disk before anybody is answered."""
        device = by or self.device
        await Audit(self.bridge.database).note(device.name, device.id, what, fields)


Answering = Callable[[Asked], Awaitable[Response | dict[str, Any]]]


class Route(Struct, frozen=True, kw_only=True):
    """One row. `scope` None: no login is needed. `on_machine`: what it tells lies on the machine of a session."""

    method: str
    path: str
    scope: Scope | None
    answer: Answering
    query: type[Struct] = Nothing
    body: type[Struct] | None = None
    takes: Takes = "json"
    most_bytes: int = MOST_BYTES
    pattern: re.Pattern[str] = re.compile("")
    gives: str = "application/json"
    on_machine: bool = False

    @property
    def summary(self) -> str:
        """What it is for, in a line."""
        return (self.answer.__doc__ or "").strip().splitlines()[0]


TABLE: Final[list[Route]] = []
_NAMED: Final = re.compile(r"\\\{(\w+)\\\}")
"""A name in braces, after all signs that mean something in an expression were escaped."""


def route(method: str, path: str, scope: Scope | None, **fields: Any) -> Callable[[Answering], Answering]:
    """Put a function into the table."""

    def enter(answer: Answering) -> Answering:
        pattern = re.compile(_NAMED.sub(r"(?P<\1>[^/]+)", re.escape(path)))
        TABLE.append(Route(method=method, path=path, scope=scope, answer=answer, pattern=pattern, **fields))
        return answer

    return enter


def status_of(code: str) -> int:
    """The status that goes with the code of a refusal."""
    return STATUS.get(code, 409)


def find(method: str, path: str, table: Sequence[Route] = TABLE) -> tuple[Route, dict[str, str]]:
    """The route of a request, and what its path names. Refused: 404, 405, 400."""
    there = [(one, found) for one in table if (found := one.pattern.fullmatch(path))]
    if not there:
        raise Refused(404, "not_found", "there is nothing at this address")
    method = "GET" if method == "HEAD" else method
    for one, found in there:
        if one.method == method:
            parts = found.groupdict()
            for name, value in parts.items():
                if not re.fullmatch(PARTS[name], value):
                    raise Refused(400, "bad_id", f"what stands for {name} in the address is none")
            return one, parts
    methods = ", ".join(sorted({one.method for one, _ in there}))
    raise Refused(405, "bad_method", f"this address takes {methods}", allow=methods)


def read_query(given: list[tuple[str, str]], wanted: type[Any]) -> Any:
    """What stands behind the question mark, as a route takes it. Refused."""
    if len({name for name, _ in given}) != len(given):
        raise Refused(400, "bad_query", "each may be said once")
    try:
        return msgspec.convert(dict(given), wanted, strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        raise Refused(400, "bad_query", str(error)) from None


def json_answer(found: Any, status: int = 200) -> Response:
    """Something as JSON."""
    return Response(msgspec.json.encode(found), status, media_type="application/json")
