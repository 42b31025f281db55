"""In front of everything. In: what came over the network. Out: a visit that was let in, or a refusal.

The order matters: whom the request is meant for (Host), which page asks (Origin, Fetch-Metadata), what it asks for, who
it is, what it may, and only then how it is written. A body is read only from whoever was let in. What fails is told as
JSON, never as a traceback.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from msgspec import Struct
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from handrail.bridge.access import Device
from handrail.bridge.addresses import Addresses
from handrail.bridge.http.route import NOBODY, Refused, Route, find
from handrail.bridge.rates import Rate, network_of

if TYPE_CHECKING:
    from handrail.bridge.app import App

__all__ = ["HEADERS", "SUBPROTOCOL", "Guard", "Visit", "cookie_name"]

log = logging.getLogger("handrail.bridge")
SUBPROTOCOL: Final = "handrail.v1"
TICKET: Final = "ticket."
CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self';"
    " font-src 'self'; manifest-src 'self'; worker-src 'self'; frame-ancestors 'none'; base-uri 'none';"
    " form-action 'none'; require-trusted-types-for 'script'; trusted-types handrail"
)
HEADERS: Final = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "cache-control": "no-store",
}
"""On every answer, unless it says something stricter itself."""
SECRETS_OF_URLS: Final = frozenset({"token", "access_token", "ticket", "link", "key", "auth", "password"})
READING: Final = frozenset({"GET", "HEAD"})
OWN_SITE: Final = frozenset({"", "same-origin", "none"})
MOST_HEADERS: Final = 128
LONGEST_HEADER: Final = 8192
BODY_SECONDS: Final = 30.0
DRAINED_BYTES: Final = 16 * 1024 * 1024
DRAINED_SECONDS: Final = 1.0
DEVICE_RATE: Final = (2000, 20.0)
STRANGER_RATE: Final = (300, 60.0)
OPEN_RATE: Final = (1200, 60.0)
"""What needs no login: the page, whether we are there, the login itself."""


class Visit(Struct, frozen=True, kw_only=True):
    """Somebody who was let in, and for what. `cookie`: the name of the cookie of this server."""

    device: Device
    route: Route | None
    path: str
    parts: dict[str, str]
    address: str
    headers: dict[str, str]
    query: list[tuple[str, str]]
    cookie: str
    secure: bool


def cookie_name(port: int, *, secure: bool) -> str:
    """Cookies are shared by all ports of a host: each server has its own name for it."""
    return f"{'__Host-' if secure else ''}handrail-{port}"


class Guard:
    """Lets in, or refuses. `inner` is given the scope with the visit under "handrail"."""

    def __init__(self, inner: Any, app: App) -> None:
        self._inner, self._app, self._access = inner, app, app.bridge.access
        self._devices, self._strangers, self._open = Rate(DEVICE_RATE), Rate(STRANGER_RATE), Rate(OPEN_RATE)
        self._known: dict[tuple[str, int], Addresses] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or one socket."""
        sending = _Sending(send, socket=scope["type"] == "websocket")
        path, body = "?", _Body(scope, receive)
        try:
            visit = self._let_in(scope)
            path = visit.route.path if visit.route else scope["path"]
            scope["handrail"] = visit
            body.most = visit.route.most_bytes if visit.route else 0
            await self._inner(scope, receive if sending.socket else body.receive, sending)
        except Refused as refusal:
            await self._refuse(scope, sending, refusal, close=not await body.drain())
        except ClientDisconnect:
            pass
        except Exception:
            log.exception("a request to %s failed", path)
            refusal = Refused(500, "internal", "the server failed; its log says why")
            await self._refuse(scope, sending, refusal, close=True)
        self._app.metrics.answered(scope.get("method", "WEBSOCKET"), path, sending.status)

    async def _refuse(self, scope: Scope, sending: _Sending, refusal: Refused, *, close: bool) -> None:
        if sending.status:  # too late: the answer has begun
            return
        headers = {"content-type": "application/json", **refusal.headers}
        if close:  # there is more of a body, that nobody is going to read
            headers["connection"] = "close"
        body = b"" if scope.get("method") == "HEAD" else refusal.body
        headers["content-length"] = str(len(refusal.body))
        kind = "websocket.http.response" if sending.socket else "http.response"
        pairs = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
        await sending({"type": f"{kind}.start", "status": refusal.status, "headers": pairs})
        await sending({"type": f"{kind}.body", "body": body})

    # The checks, in their order

    def _let_in(self, scope: Scope) -> Visit:
        headers = _headers(scope)
        reached, port = scope.get("server") or ("", 0)
        secure = scope["scheme"] in ("https", "wss")
        addresses = self._addresses(reached, int(port or 0), secure=secure)
        if headers.get("host", "").lower() not in addresses.hosts:
            raise Refused(421, "wrong_host", "this server is not known by that name: see --name")
        if not scope["path"].startswith("/") or scope["raw_path"].startswith(b"//"):
            raise Refused(400, "bad_address", "an address here begins with one slash")
        query = _query(scope)
        address = network_of((scope.get("client") or ("", 0))[0])
        cookie = cookie_name(port, secure=secure)
        route, parts = None, dict[str, str]()
        if scope["type"] == "websocket":
            device = self._socket(scope, headers, query, addresses, address, cookie)
        else:
            _check_secrets(query)
            _check_page(scope, headers, addresses)
            route, parts = find(scope["method"], scope["path"], self._app.table)
            device = self._asks(route, scope, headers, address, cookie)
        return Visit(
            device=device,
            route=route,
            path=scope["path"],
            parts=parts,
            address=address,
            headers=headers,
            query=query,
            cookie=cookie,
            # Something before us may speak TLS: then the page says so.
            secure=secure or headers.get("origin", "").lower().startswith("https://"),
        )

    def _asks(self, route: Route, scope: Scope, headers: dict[str, str], address: str, cookie: str) -> Device:
        """Who asks for a route: anybody, or a device that may."""
        if route.scope is None:
            _check_rate(self._open, address)
            device = NOBODY
        else:
            device = self._device(headers, address, cookie)
            _check_kind(device, early=False)
            if route.scope not in device.scopes:
                raise Refused(403, "forbidden", f"this needs the scope {route.scope!r}, which this device has not")
        _check_change(scope["method"], headers, device)
        _check_body(route, headers)
        return device

    def _addresses(self, reached: str, port: int, *, secure: bool) -> Addresses:
        if (reached, port) not in self._known:
            told = self._app.bridge.configuration
            self._known[reached, port] = Addresses.of(told.host, port, told.names, secure=secure, reached=reached)
        return self._known[reached, port]

    def _device(self, headers: dict[str, str], address: str, cookie: str, *, token: str | None = None) -> Device:
        """Who it is. Refused: 401, 429."""
        if token is None:
            given = headers.get("authorization")
            if given is None:
                tokens = _cookies(headers, cookie)
            else:
                kind, _, said = given.partition(" ")
                tokens = [said.strip()] if kind.lower() == "bearer" else []
        else:
            tokens = [token]
        device = next(filter(None, map(self._access.device, tokens)), None)
        if device is None:
            _check_rate(self._strangers, address)
            if any(one.partition(".")[0] in self._access.revoked for one in tokens):
                raise Refused(401, "revoked", "this device was revoked", www_authenticate="Bearer")
            raise Refused(401, "no_login", "log in with a link, or send a token of a device", www_authenticate="Bearer")
        _check_rate(self._devices, device.id)
        self._access.touch(device)
        return device

    def _socket(
        self,
        scope: Scope,
        headers: dict[str, str],
        query: list[tuple[str, str]],
        addresses: Addresses,
        address: str,
        cookie: str,
    ) -> Device:
        """Who opens a socket: a program with a token, or a page of ours with a cookie and a ticket."""
        if scope["path"] not in self._app.dialects:
            raise Refused(404, "not_found", "there is no socket at this address")
        seeds = scope["path"] == "/" and self._app.bridge.configuration.seed_protocol
        if not seeds:
            _check_secrets(query)
        _check_page(scope, headers, addresses)
        if seeds and "authorization" not in headers:
            device = self._device(headers, address, cookie, token=dict(query).get("token", ""))
            if device.kind != "seed":
                raise Refused(401, "no_login", "only a token that was made for it may stand in an address")
        elif "authorization" in headers:
            device = self._device(headers, address, cookie)
            _check_kind(device, early=seeds)
        else:
            if "origin" not in headers:
                raise Refused(403, "no_origin", "a page says where it comes from; a program sends a token")
            device = self._device(headers, address, cookie)
            offered = [one.removeprefix(TICKET) for one in scope["subprotocols"] if one.startswith(TICKET)]
            owner = self._access.use_ticket(offered[0]) if len(offered) == 1 else None
            if owner is None or owner.id != device.id or scope["path"] == "/":
                raise Refused(401, "no_ticket", "a page needs a new ticket for each socket: POST /api/tickets")
        if scope["path"] == "/" and "prompt" not in device.scopes:
            raise Refused(403, "forbidden", "the early protocol tells of paths: this device may only look")
        if scope["path"] != "/" and SUBPROTOCOL not in scope["subprotocols"]:
            raise Refused(400, "no_protocol", f"a socket here speaks the subprotocol {SUBPROTOCOL}")
        if self._app.sockets.full(device):
            raise Refused(429, "too_many", "this device has too many sockets open: close some")
        return device


# Each check: Refused, or nothing


def _headers(scope: Scope) -> dict[str, str]:
    pairs: list[tuple[bytes, bytes]] = scope["headers"]
    if len(pairs) > MOST_HEADERS or any(len(name) + len(value) > LONGEST_HEADER for name, value in pairs):
        raise Refused(431, "too_large", "too many headers, or one that is too long")
    found: dict[str, str] = {}
    for name, value in pairs:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        if key in found and key in ("host", "origin", "authorization", "content-type", "sec-fetch-site"):
            raise Refused(400, "bad_request", f"{key} may be said once")
        found[key] = f"{found[key]}; {text}" if key == "cookie" and key in found else text
    if "content-length" in found and "transfer-encoding" in found:  # two who read this may not agree where it ends
        raise Refused(400, "bad_request", "a body has a length or is chunked, not both")
    return found


def _query(scope: Scope) -> list[tuple[str, str]]:
    try:
        text = scope["query_string"].decode("ascii")
        return parse_qsl(text, keep_blank_values=True, max_num_fields=50, errors="strict")
    except ValueError:
        raise Refused(400, "bad_query", "what stands after the question mark cannot be read") from None


def _check_secrets(query: list[tuple[str, str]]) -> None:
    """Addresses are written down in many places: no secret belongs there, so none that stands there is good."""
    if any(name.lower() in SECRETS_OF_URLS for name, _ in query):
        raise Refused(401, "secret_in_address", "no secret may stand in an address: send it in a header")


def _check_page(scope: Scope, headers: dict[str, str], addresses: Addresses) -> None:
    """Which page asks: ours, or none. A person may follow a link to our page from wherever it stands."""
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in addresses.origins:
        raise Refused(403, "wrong_origin", "pages of other origins may not ask here")
    if headers.get("sec-fetch-site", "").lower() in OWN_SITE:
        return
    followed = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
    if not (followed and scope.get("method") == "GET" and scope["path"] == "/"):
        raise Refused(403, "wrong_site", "pages of other sites may not ask here")


def _check_kind(device: Device, *, early: bool) -> None:
    """A token that may stand in an address is for the early protocol alone, and only where that was wanted."""
    if device.kind == "seed" and not early:
        raise Refused(403, "forbidden", "this token is for the early protocol alone, with --seed-protocol")


def _check_change(method: str, headers: dict[str, str], device: Device) -> None:
    if method in READING or "origin" in headers or "authorization" in headers or device is NOBODY:
        return
    raise Refused(403, "no_origin", "with a cookie, a request that changes something says where it comes from")


def _check_body(route: Route, headers: dict[str, str]) -> None:
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > route.most_bytes:
        raise Refused(413, "too_large", f"at most {route.most_bytes:,} bytes are taken here")
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    there = length != "0" or "transfer-encoding" in headers
    if route.method == "GET" or not (kind or there):
        return
    good = kind == "application/json" if route.takes == "json" else kind in _BYTES
    if not good:
        taken = "application/json" if route.takes == "json" else "application/octet-stream or the picture's own type"
        raise Refused(415, "bad_type", f"only {taken} is taken here")


_BYTES: Final = frozenset({"application/octet-stream", "image/png", "image/jpeg", "image/gif", "image/webp"})


def _check_rate(rate: Rate, who: str) -> None:
    if wait := rate.take(who):
        raise Refused(429, "too_often", f"too many requests: wait {wait} s", retry_after=str(wait))


def _cookies(headers: dict[str, str], name: str) -> list[str]:
    """All of this name. Other servers of a host share the jar: what they put there must not hide ours."""
    pairs = (one.strip().partition("=") for one in headers.get("cookie", "").split(";"))
    return [value.strip('"') for given, _, value in pairs if given == name and value]


class _Sending:
    """Answers with all the headers that each must have. `status` is 0 until one has begun."""

    def __init__(self, send: Send, *, socket: bool) -> None:
        self._send, self.socket, self.status = send, socket, 0

    async def __call__(self, message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            self.status = message["status"]
            said = {name.lower() for name, _ in message["headers"]}
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in said]
            message = {**message, "headers": [*message["headers"], *more]}
        elif message["type"] == "websocket.accept":
            self.status = 101
        await self._send(message)


class _Body:
    """A body that is no larger than it may be, and comes in time."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._receive, self._taken, self._ends = receive, 0, 0.0
        self.most = 0
        told = {name: value for name, value in scope["headers"] if name in (b"content-length", b"transfer-encoding")}
        self._none = scope["type"] == "websocket" or not told or told.get(b"content-length") == b"0"
        self._whole = False

    async def receive(self) -> Message:
        """The next piece. Refused: 408, 413."""
        if self._whole:
            return await self._receive()
        self._ends = self._ends or asyncio.get_running_loop().time() + BODY_SECONDS
        try:
            async with asyncio.timeout_at(self._ends):
                message = await self._next()
        except TimeoutError:
            raise Refused(408, "too_slow", f"the body did not come within {BODY_SECONDS:.0f} s") from None
        if self._taken > self.most:
            raise Refused(413, "too_large", f"at most {self.most:,} bytes are taken here")
        return message

    async def _next(self) -> Message:
        message = await self._receive()
        self._taken += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        return message

    async def drain(self) -> bool:
        """Take the rest of a body that is not wanted: who is still writing does not read why. Out: was that all?"""
        most = self._taken + DRAINED_BYTES
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAINED_SECONDS):
                while not (self._whole or self._none) and self._taken < most:
                    await self._next()
        return self._whole or self._none
