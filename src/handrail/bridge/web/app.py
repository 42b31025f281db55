"""The ASGI application: Starlette's router behind the guard, with the checks of each row in front of its handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Router, WebSocketRoute
from starlette.routing import Route as StarletteRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from handrail.bridge.commands.router import Fetch, Fetched
from handrail.bridge.commands.router import Router as MachineRouter
from handrail.bridge.errors import CommandRefused
from handrail.bridge.web.admission import SUBPROTOCOL, Admission
from handrail.bridge.web.devices import Access, Device
from handrail.bridge.web.guard import Visit
from handrail.bridge.web.http.route import (
    Bound,
    Refused,
    Route,
    RouteRequest,
    answered,
    bind,
    check_parts,
    read_query,
    status_of,
)
from handrail.bridge.web.sockets import REVOKED, Sockets, SocketWire

__all__ = ["Dialect", "LocalRoutes", "make_router"]

Dialect = Callable[[Device, SocketWire], Awaitable[None]]
"""Speaks one protocol on one socket until it ends."""
Lifespan = Callable[[Any], AbstractAsyncContextManager[None]]


def make_router(
    routes: Sequence[Bound],
    dialects: Mapping[str, Dialect],
    *,
    admission: Admission,
    machines: MachineRouter,
    access: Access,
    sockets: Sockets,
    lifespan: Lifespan,
) -> Router:
    """Starlette's router for these routes and sockets."""
    paths: dict[str, list[Bound]] = {}
    for one in routes:
        paths.setdefault(one[0].path, []).append(one)
    found: list[BaseRoute] = [
        StarletteRoute(path, _Resource(bound, admission, machines), methods=[row.method for row, _ in bound])
        for path, bound in paths.items()
    ]
    found += [
        WebSocketRoute(path, _SocketEndpoint(path, dialect, admission, access, sockets))
        for path, dialect in dialects.items()
    ]
    return Router(found, redirect_slashes=False, default=_not_found, lifespan=lifespan)


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    what = "socket" if scope["type"] == "websocket" else "resource"
    raise Refused(404, "not_found", f"no {what} at this path")


class _Resource:
    """The methods of one path. One Starlette route per path, so that its 405 response lists all of them."""

    def __init__(self, bound: Sequence[Bound], admission: Admission, machines: MachineRouter) -> None:
        self._bound = {row.method: (row, handler) for row, handler in bound}
        self._admission, self._machines = admission, machines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit: Visit = scope["handrail"]
        row, handler = self._bound["GET" if scope["method"] == "HEAD" else scope["method"]]
        visit.label = row.path
        check_parts(scope["path_params"])
        device = self._admission.request(row, scope["method"], visit)
        visit.body.most = row.most_bytes
        request = RouteRequest(
            device=device,
            parts=scope["path_params"],
            query=read_query(visit.query, row.query),
            body=await _body(row, Request(scope, receive)),
            address=visit.address,
            agent=visit.headers.get("user-agent", ""),
            cookie=visit.cookie,
            secure=visit.secure,
            unchanged=visit.headers.get("if-none-match", ""),
            encodings=visit.headers.get("accept-encoding", ""),
        )
        response = await self._from_machine(scope["path"], visit, request) if row.on_machine else None
        response = response or await answered(handler, request)
        await response(scope, receive, send)

    async def _from_machine(self, path: str, visit: Visit, request: RouteRequest) -> Response | None:
        """The response of the machine that has the session; None if it is this one."""
        device = request.device
        fetch = Fetch("GET", path, visit.query, device.id, device.name, sorted(device.scopes))
        try:
            found = await self._machines.fetch(request.parts["id"], fetch)
        except CommandRefused as refusal:
            raise Refused(status_of(refusal.code), refusal.code, refusal.message) from None
        return None if found is None else Response(found.body, found.status, dict(found.headers))


async def _body(row: Route, request: Request) -> Any:
    if row.takes == "bytes":
        return await request.body()
    if row.body is None:
        return None
    try:
        return msgspec.json.decode(await request.body() or b"{}", type=row.body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Refused(400, "bad_body", str(error)) from None


class _SocketEndpoint:
    """One path with a socket."""

    def __init__(self, path: str, dialect: Dialect, admission: Admission, access: Access, sockets: Sockets) -> None:
        self._path, self._dialect, self._admission = path, dialect, admission
        self._access, self._sockets = access, sockets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        websocket, visit = WebSocket(scope, receive, send), scope["handrail"]
        visit.label = self._path
        native = SUBPROTOCOL in scope["subprotocols"]
        device = self._admission.socket(self._path, scope["subprotocols"], visit)
        if self._sockets.full(device):
            raise Refused(429, "too_many", "this device has too many open sockets; close some")
        await websocket.accept(SUBPROTOCOL if native else None)
        if not self._access.knows(device):  # revoked during the handshake
            return await websocket.close(*REVOKED)
        # Clients of the other protocols send the first message; ccpocket clients may stay silent.
        wire = SocketWire(websocket, hello=self._path != "/")
        await self._sockets.serve(device, wire, self._dialect(device, wire))


class LocalRoutes:
    """Answers requests of other machines for files and frames that exist only here."""

    def __init__(self, *handlers: object) -> None:
        self._bound = [
            (StarletteRoute(row.path, _not_found, methods=[row.method]), row, handler)
            for row, handler in bind(*handlers)
            if row.on_machine
        ]

    async def answer(self, fetch: Fetch) -> Fetched:
        """The response. The scopes of the device were checked where it came in, and are checked again here."""
        scopes = frozenset(fetch.scopes)
        device = Device(fetch.device, fetch.name, "program", scopes, 0, 0)
        try:
            row, handler, parts = self._found(fetch)
            if row.scope not in scopes:
                raise Refused(403, "forbidden", f"this needs the scope {row.scope!r}, which this device lacks")
            check_parts(parts)
            request = RouteRequest(device=device, parts=parts, query=read_query(fetch.query, row.query))
            response = await answered(handler, request)
        except Refused as refusal:
            return Fetched(refusal.status, [("content-type", "application/json")], refusal.body)
        headers = [(name.decode(), value.decode()) for name, value in response.raw_headers if name != b"content-length"]
        return Fetched(response.status_code, headers, bytes(response.body))

    def _found(self, fetch: Fetch) -> tuple[Route, Callable[..., Any], dict[str, str]]:
        scope = {"type": "http", "method": fetch.method, "path": fetch.path, "root_path": ""}
        for route, row, handler in self._bound:
            match, found = route.matches(scope)
            if match is Match.FULL and not fetch.path.endswith("\n"):
                return row, handler, found["path_params"]
        raise Refused(403, "forbidden", "other machines may not request this")
