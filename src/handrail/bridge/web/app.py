"""The server on the network. In: a Bridge. Out: an ASGI application: page, API and sockets, behind the guard."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Router
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from handrail.bridge.bridge import Bridge
from handrail.bridge.errors import BridgeError, CommandRefused
from handrail.bridge.web import sockets
from handrail.bridge.web.devices import Device
from handrail.bridge.web.dialects import ccpocket, native
from handrail.bridge.web.guard import SUBPROTOCOL, Guard, Visit
from handrail.bridge.web.http import (
    cluster,
    commands,
    defaults,
    devices,
    export,
    files,
    folders,
    history,
    keeping,
    login,
    openapi,
    search,
    sessions,
    wire,
)
from handrail.bridge.web.http import uploads as pictures
from handrail.bridge.web.http.metrics import Metrics
from handrail.bridge.web.http.route import TABLE, Asked, Refused, Route, json_answer, read_query, status_of
from handrail.bridge.web.http.static import PAGE, page_routes
from handrail.bridge.web.rate_limits import Rate
from handrail.bridge.web.sockets import Sockets, SocketWire

__all__ = ["App", "answered", "make_app"]

_ROUTES = (
    cluster, commands, defaults, devices, export, files, folders, history, keeping, login, openapi, pictures, search,
    sessions, wire,
)  # fmt: skip
"""Loaded, so that their rows are in the table."""
LOGINS: Final = ((2, 60.0), (12, 3600.0))
Speaking = Callable[[Bridge, Device, SocketWire], Awaitable[None]]


async def _native(bridge: Bridge, device: Device, wire: SocketWire) -> None:
    await native.Client(bridge, device, wire, version=metadata.version("handrail")).run()


async def _seed(bridge: Bridge, device: Device, wire: SocketWire) -> None:
    await ccpocket.Client(bridge, device, wire).run()


DIALECTS: Final[dict[str, Speaking]] = {"/ws": _native, "/": _seed}


class App:
    """What all routes share."""

    def __init__(self, bridge: Bridge, dialects: dict[str, Speaking] | None = None, page: Path = PAGE) -> None:
        self.bridge = bridge
        self.table = (*TABLE, *page_routes(page))
        self.dialects = dialects if dialects is not None else DIALECTS
        self.sockets = Sockets()
        self.logins = Rate(*LOGINS)
        self.metrics = Metrics(self)
        bridge.access.on_revoked.append(self.sockets.revoked)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One visit that the guard let in."""
        if scope["type"] == "websocket":
            return await self._socket(WebSocket(scope, receive, send))
        response = await self._answer(Request(scope, receive), scope["handrail"])
        await response(scope, receive, send)

    async def _answer(self, request: Request, visit: Visit) -> Response:
        route = visit.route
        assert route is not None
        query = read_query(visit.query, route.query)
        body: Any = None
        if route.takes == "bytes":
            body = await request.body()
        elif route.body is not None:
            body = _decoded(await request.body(), route.body)
        asked = Asked(
            app=self,
            device=visit.device,
            parts=visit.parts,
            query=query,
            body=body,
            address=visit.address,
            agent=visit.headers.get("user-agent", ""),
            cookie=visit.cookie,
            secure=visit.secure,
            unchanged=visit.headers.get("if-none-match", ""),
            encodings=visit.headers.get("accept-encoding", ""),
        )
        return await answered(route, asked, visit)

    async def _socket(self, websocket: WebSocket) -> None:
        visit: Visit = websocket.scope["handrail"]
        path = websocket.scope["path"]
        speaks = SUBPROTOCOL in websocket.scope["subprotocols"]
        await websocket.accept(SUBPROTOCOL if speaks else None)
        if not self.bridge.access.knows(visit.device):  # revoked while we were answering
            return await websocket.close(sockets.REVOKED)
        # Clients of the early protocol need not say anything; ours say hello.
        wire = SocketWire(websocket, hello=sockets.HELLO_SECONDS if speaks else None)
        await self.sockets.serve(visit.device, wire, self.dialects[path](self.bridge, visit.device, wire))


async def answered(route: Route, asked: Asked, visit: Visit | None = None) -> Response:
    """What a route says to a request, on the machine that it concerns. Without `visit`: on this one. Refused."""
    try:
        found = await _from_machine(asked, visit) if visit is not None and route.on_machine else None
        found = found or await route.answer(asked)
    except CommandRefused as refusal:
        raise Refused(status_of(refusal.code), refusal.code, refusal.message) from None
    except BridgeError as error:
        raise Refused(503, "failed", str(error)) from None
    return found if isinstance(found, Response) else json_answer(found)


async def _from_machine(asked: Asked, visit: Visit) -> Response | None:
    """What another machine answers that has the session; None where it is here."""
    cluster, device = asked.bridge.cluster, asked.device
    if cluster is None:
        return None
    from handrail.bridge.cluster.routing.asks import Fetch

    ask = Fetch("GET", visit.path, visit.query, device.id, device.name, sorted(device.scopes))
    found = await cluster.fetch(asked.parts["id"], ask)
    return None if found is None else Response(found.body, found.status, dict(found.headers))


def _decoded(body: bytes, wanted: type[Any]) -> Any:
    try:
        return msgspec.json.decode(body or b"{}", type=wanted)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Refused(400, "bad_body", str(error)) from None


def make_app(bridge: Bridge, dialects: dict[str, Speaking] | None = None, page: Path = PAGE) -> Router:
    """The application. It opens the bridge when it starts, and closes it when it ends. `page`: the built page."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Any) -> AsyncGenerator[None]:
        async with bridge:
            yield

    app = App(bridge, dialects, page)
    return Router(lifespan=lifespan, default=Guard(app, app), redirect_slashes=False)
