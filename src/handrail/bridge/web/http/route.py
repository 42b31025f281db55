"""The route table. Starlette's router, the scope checks, the OpenAPI document and the metrics labels come from it.

A handler is a method of a class whose constructor takes the parts that its routes need. A row says what a request must
bring; `web/app.py` checks that before the handler runs.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, Literal, TypeVar

import msgspec
from msgspec import Struct
from starlette.responses import Response

from handrail.bridge.commands.table import Scope
from handrail.bridge.errors import BridgeError, ClusterAway, CommandRefused
from handrail.bridge.store.audit import Audit
from handrail.bridge.web.devices import Device
from handrail.errors import PeerError

__all__ = [
    "INERT",
    "NOBODY",
    "PARTS",
    "Anything",
    "Bound",
    "Handler",
    "Nothing",
    "Refused",
    "Route",
    "RouteRequest",
    "answered",
    "bind",
    "check_parts",
    "json_answer",
    "note",
    "read_query",
    "route",
    "routes_of",
    "status_of",
]

Takes = Literal["json", "bytes"]
MOST_BYTES: Final = 1024 * 1024
NOBODY: Final = Device("", "", "program", frozenset(), 0, 0)
"""The device of a request to a route that needs no login."""
INERT: Final = {"content-security-policy": "sandbox; default-src 'none'", "content-disposition": "attachment"}
"""Headers for content that the server did not make: browsers download it and never run it as a page of ours."""
PARTS: Final = {
    "id": r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "seq": r"[1-9][0-9]{0,9}",
    "device": r"[0-9a-f]{16}",
}
"""The pattern of each path parameter."""
_ROW: Final = "_handrail_route"

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


class Refused(PeerError):
    """A request that gets an error response: the status, a code for programs, a sentence for people."""

    def __init__(self, status: int, code: str, message: str, **headers: str) -> None:
        self.status, self.code, self.message = status, code, message
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        super().__init__(message)

    @property
    def body(self) -> bytes:
        """The error as JSON."""
        return msgspec.json.encode({"error": {"code": self.code, "message": self.message}})


class Nothing(Struct, frozen=True, forbid_unknown_fields=True):
    """No fields."""


class Anything(Struct, frozen=True):
    """Any fields; they are ignored."""


class RouteRequest(Struct, frozen=True, kw_only=True):
    """A request that passed all checks.

    `query` and `body` are decoded as the row says, `parts` are the path parameters, `address` is the client's network,
    `agent`, `unchanged` and `encodings` are the headers User-Agent, If-None-Match and Accept-Encoding, and `cookie` is
    the name of this server's cookie.
    """

    device: Device
    parts: Mapping[str, str]
    query: Any
    body: Any = None
    address: str = ""
    agent: str = ""
    cookie: str = ""
    secure: bool = False
    unchanged: str = ""
    encodings: str = ""


Handler = Callable[[RouteRequest], Awaitable[Response | dict[str, Any]]]
Method = TypeVar("Method", bound=Callable[..., Awaitable[Any]])


class Route(Struct, frozen=True, kw_only=True):
    """One row.

    scope       the scope a device needs; None: no login
    on_machine  the answer exists only on the machine of the session that the path names
    gives       the media type of the response
    """

    method: str
    path: str
    scope: Scope | None
    summary: str = ""
    query: type[Struct] = Nothing
    body: type[Struct] | None = None
    takes: Takes = "json"
    most_bytes: int = MOST_BYTES
    gives: str = "application/json"
    on_machine: bool = False


Bound = tuple[Route, Handler]


def route(method: str, path: str, scope: Scope | None, **fields: Any) -> Callable[[Method], Method]:
    """Mark a method as the handler of a route. The first line of its docstring is the summary."""

    def mark(handler: Method) -> Method:
        summary = (handler.__doc__ or "").strip().splitlines()[0]
        setattr(handler, _ROW, Route(method=method, path=path, scope=scope, summary=summary, **fields))
        return handler

    return mark


def _marked(theme: type) -> Iterable[tuple[str, Route]]:
    for attribute, value in vars(theme).items():
        if isinstance(row := getattr(value, _ROW, None), Route):
            yield attribute, row


def routes_of(*themes: type) -> list[Route]:
    """The rows of handler classes."""
    return [row for theme in themes for _, row in _marked(theme)]


def bind(*handlers: object) -> list[Bound]:
    """The rows of handler instances, each with its bound method."""
    return [(row, getattr(one, attribute)) for one in handlers for attribute, row in _marked(type(one))]


async def answered(handler: Handler, request: RouteRequest) -> Response:
    """Run a handler. Raises Refused: errors of the bridge become responses here and nowhere else."""
    try:
        found = await handler(request)
    except CommandRefused as refusal:
        raise Refused(status_of(refusal.code), refusal.code, refusal.message) from None
    except BridgeError as error:
        code = "cluster_away" if isinstance(error, ClusterAway) else "failed"
        raise Refused(status_of(code), code, str(error)) from None
    return found if isinstance(found, Response) else json_answer(found)


def check_parts(parts: Mapping[str, str]) -> None:
    """Raise Refused for a path parameter that does not match its pattern."""
    for name, value in parts.items():
        if not re.fullmatch(PARTS[name], value):
            raise Refused(400, "bad_id", f"invalid {name} in the path")


def read_query(given: list[tuple[str, str]], wanted: type[Any]) -> Any:
    """The query string as the type of a route. Raises Refused."""
    if len({name for name, _ in given}) != len(given):
        raise Refused(400, "bad_query", "duplicate parameter in the query string")
    try:
        return msgspec.convert(dict(given), wanted, strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        raise Refused(400, "bad_query", str(error)) from None


def status_of(code: str) -> int:
    """The HTTP status for the code of a refused command."""
    return STATUS.get(code, 409)


def json_answer(found: Any, status: int = 200) -> Response:
    """A JSON response."""
    return Response(msgspec.json.encode(found), status, media_type="application/json")


async def note(audit: Audit, by: Device, what: str, **fields: Any) -> None:
    """Append to the audit log. The row is on disk before the response is sent."""
    await audit.note(by.name, by.id, what, fields)
