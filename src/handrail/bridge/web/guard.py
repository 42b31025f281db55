"""The outermost ASGI layer: every request and socket passes it first.

Checked here, in this order: the shape of the head, Host (against DNS rebinding), secrets in URLs, Origin and Fetch
Metadata. Then Starlette's router finds the route, and `admission` checks the device, its scope, rates and the body's
type before the handler runs. A body is read only after all of that. Every failure becomes a JSON response here, never a
traceback.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Final
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from handrail.bridge.addresses import Addresses
from handrail.bridge.web.forwarded import Proxies
from handrail.bridge.web.http.route import Refused
from handrail.bridge.web.rate_limits import network_of

__all__ = ["HEADERS", "Body", "Guard", "Visit", "cookie_name"]

log = logging.getLogger("handrail.bridge")
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
"""Added to every response that does not set them itself."""
SECRET_NAMES: Final = frozenset({"token", "access_token", "ticket", "link", "key", "auth", "password"})
OWN_SITE: Final = frozenset({"", "same-origin", "none"})
ONCE: Final = ("host", "origin", "authorization", "content-type", "sec-fetch-site")
JOINED: Final = {"cookie": "; ", "x-forwarded-for": ", "}
"""Headers that may come in several lines, with their separator."""
MOST_HEADERS: Final = 128
LONGEST_HEADER: Final = 8192
BODY_SECONDS: Final = 30.0
DRAINED_BYTES: Final = 16 * 1024 * 1024
DRAINED_SECONDS: Final = 1.0


class Visit:
    """One request or socket after the checks of the head.

    `address` is the client's network, for rate limits. `cookie` is the name of this server's cookie. `label` is the
    path of the matched row, for metrics.
    """

    def __init__(
        self,
        headers: dict[str, str],
        query: list[tuple[str, str]],
        address: str,
        cookie: str,
        *,
        secure: bool,
        body: Body,
    ) -> None:
        self.headers, self.query, self.address, self.cookie = headers, query, address, cookie
        self.secure, self.body = secure, body
        self.label = "?"


def cookie_name(label: str, *, secure: bool) -> str:
    """The ports of a host share one cookie jar, so each server needs another name; gateways of a cluster share one."""
    return f"{'__Host-' if secure else ''}handrail-{label}"


class Guard:
    """Checks the head of a request and passes it on with a `Visit` under `scope["handrail"]`.

    `inner` is the router. `addresses` gives the Host and Origin lists for the address and port that were reached.
    `token_paths` are sockets whose clients can only put a token into the URL. `cookie` is the label of the cookie; ""
    stands for the port. `base_path` is removed from paths that start with it; others are served as well, because many
    proxies remove it themselves. `proxies` may say who the client is. `count` gets method, label and status.
    """

    def __init__(
        self,
        inner: ASGIApp,
        addresses: Callable[[str, int, bool], Addresses],
        *,
        token_paths: frozenset[str] = frozenset(),
        cookie: str = "",
        base_path: str = "",
        proxies: Proxies = Proxies(),  # noqa: B008  it is immutable
        count: Callable[[str, str, int], None],
    ) -> None:
        self._inner, self._addresses, self._token_paths, self._count = inner, addresses, token_paths, count
        self._cookie, self._base_path, self._proxies = cookie, base_path, proxies
        self._known: dict[tuple[str, int], Addresses] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, one socket, or the lifespan of the server."""
        if scope["type"] == "lifespan":
            return await self._inner(scope, receive, send)
        sending, body = _Sending(send, socket=scope["type"] == "websocket"), Body(scope, receive)
        visit: Visit | None = None
        try:
            scope["handrail"] = visit = self._checked(scope, body)
            # With an app in the scope, Starlette's router raises HTTPException instead of responding in plain text.
            scope["app"] = self
            await self._inner(scope, receive if sending.socket else body.receive, sending)
        except Refused as refusal:
            await self._refuse(scope, sending, refusal, close=not await body.drain())
        except HTTPException as error:
            await self._refuse(scope, sending, _from_router(error), close=not await body.drain())
        except ClientDisconnect:
            pass
        except Exception:
            log.exception("request to %s failed", visit.label if visit else "?")
            refusal = Refused(500, "internal", "internal server error; see the server's log")
            await self._refuse(scope, sending, refusal, close=True)
        self._count(scope.get("method", "WEBSOCKET"), visit.label if visit else "?", sending.status)

    async def _refuse(self, scope: Scope, sending: _Sending, refusal: Refused, *, close: bool) -> None:
        if sending.status:  # the response has begun
            return
        headers = {"content-type": "application/json", **refusal.headers}
        if close:  # the rest of the body is not read
            headers["connection"] = "close"
        body = b"" if scope.get("method") == "HEAD" else refusal.body
        headers["content-length"] = str(len(refusal.body))
        kind = "websocket.http.response" if sending.socket else "http.response"
        pairs = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
        await sending({"type": f"{kind}.start", "status": refusal.status, "headers": pairs})
        await sending({"type": f"{kind}.body", "body": body})

    def _checked(self, scope: Scope, body: Body) -> Visit:
        """The checks of the head, in order. Raises Refused."""
        headers = _headers(scope)
        reached, port = scope.get("server") or ("", 0)
        port, secure = int(port or 0), scope["scheme"] in ("https", "wss")
        if (reached, port) not in self._known:
            self._known[reached, port] = self._addresses(reached, port, secure)
        addresses = self._known[reached, port]
        if headers.get("host", "").lower() not in addresses.hosts:
            raise Refused(421, "wrong_host", "the server is not known by this host name; see --name")
        self._remove_base_path(scope)
        if not scope["path"].startswith("/") or scope["raw_path"].startswith(b"//"):
            raise Refused(400, "bad_address", "the path must start with exactly one slash")
        if "\n" in scope["path"]:  # `$` in the router's patterns also matches before a final newline
            raise Refused(404, "not_found", "nothing was found at this path")
        query = _query(scope)
        if not (scope["type"] == "websocket" and scope["path"] in self._token_paths):
            _check_secrets(query)
        _check_page(scope, headers, addresses)
        peer = (scope.get("client") or ("", 0))[0]
        # Servers of several machines may have the same port behind one name of a proxy.
        label = self._cookie or f"{port}{self._base_path.replace('/', '.')}"
        return Visit(
            headers,
            query,
            network_of(self._proxies.client(peer, headers)),
            cookie_name(label, secure=secure),
            # A proxy in front may speak TLS; then the page's origin says so.
            secure=secure
            or headers.get("origin", "").lower().startswith("https://")
            or self._proxies.secure(peer, headers),
            body=body,
        )

    def _remove_base_path(self, scope: Scope) -> None:
        base = self._base_path
        if not base:
            return
        if scope["path"] == base and scope["type"] == "http":  # the page's files are relative to its path with a slash
            raise Refused(308, "moved", f"the page is at {base}/", location=f"{base}/")
        if scope["path"] == base or scope["path"].startswith(f"{base}/"):
            scope["path"] = scope["path"].removeprefix(base) or "/"
            scope["raw_path"] = scope["raw_path"].removeprefix(base.encode()) or b"/"


def _from_router(error: HTTPException) -> Refused:
    """The response to a method that a path does not take; unknown paths are handled by the default route."""
    allowed = ", ".join(sorted(set((error.headers or {}).get("Allow", "").split(", ")) - {"HEAD"}))
    return Refused(error.status_code, "bad_method", f"method not allowed; this path accepts {allowed}", allow=allowed)


# The checks of the head: each raises Refused or returns


def _headers(scope: Scope) -> dict[str, str]:
    pairs: list[tuple[bytes, bytes]] = scope["headers"]
    if len(pairs) > MOST_HEADERS or any(len(name) + len(value) > LONGEST_HEADER for name, value in pairs):
        raise Refused(431, "too_large", "too many headers, or a header that is too long")
    found: dict[str, str] = {}
    for name, value in pairs:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        if key in found and key in ONCE:
            raise Refused(400, "bad_request", f"duplicate header {key}")
        found[key] = f"{found[key]}{JOINED[key]}{text}" if key in JOINED and key in found else text
    if "content-length" in found and "transfer-encoding" in found:  # two readers may disagree where the body ends
        raise Refused(400, "bad_request", "a body has a length or is chunked, not both")
    return found


def _query(scope: Scope) -> list[tuple[str, str]]:
    try:
        text = scope["query_string"].decode("ascii")
        return parse_qsl(text, keep_blank_values=True, max_num_fields=50, errors="strict")
    except ValueError:
        raise Refused(400, "bad_query", "malformed query string") from None


def _check_secrets(query: list[tuple[str, str]]) -> None:
    """URLs are written to many logs and histories: a secret in one is refused, so that no client relies on it."""
    if any(name.lower() in SECRET_NAMES for name, _ in query):
        raise Refused(401, "secret_in_address", "a secret must not be part of a URL; send it in a header")


def _check_page(scope: Scope, headers: dict[str, str], addresses: Addresses) -> None:
    """Requests of other sites are refused, except a person who follows a link to our page."""
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in addresses.origins:
        raise Refused(403, "wrong_origin", "requests from other origins are refused")
    if headers.get("sec-fetch-site", "").lower() in OWN_SITE:
        return
    followed = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
    if not (followed and scope.get("method") == "GET" and scope["path"] == "/"):
        raise Refused(403, "wrong_site", "requests from other sites are refused")


class _Sending:
    """Adds `HEADERS` to a response. `status` is 0 until the response has begun."""

    def __init__(self, send: Send, *, socket: bool) -> None:
        self._send, self.socket, self.status = send, socket, 0

    async def __call__(self, message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            self.status = message["status"]
            given = {name.lower() for name, _ in message["headers"]}
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in given]
            message = {**message, "headers": [*message["headers"], *more]}
        elif message["type"] == "websocket.accept":
            self.status = 101
        await self._send(message)


class Body:
    """A request body with a size limit and a deadline. `most` is 0 until a route has admitted the request."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._receive, self._taken, self._ends = receive, 0, 0.0
        self.most = 0
        told = {name: value for name, value in scope["headers"] if name in (b"content-length", b"transfer-encoding")}
        self._empty = scope["type"] == "websocket" or not told or told.get(b"content-length") == b"0"
        self._complete = False

    async def receive(self) -> Message:
        """The next part. Raises Refused: 408, 413."""
        if self._complete:
            return await self._receive()
        self._ends = self._ends or asyncio.get_running_loop().time() + BODY_SECONDS
        try:
            async with asyncio.timeout_at(self._ends):
                message = await self._next()
        except TimeoutError:
            raise Refused(408, "too_slow", f"the body did not arrive within {BODY_SECONDS:.0f} s") from None
        if self._taken > self.most:
            raise Refused(413, "too_large", f"the body exceeds {self.most:,} bytes")
        return message

    async def _next(self) -> Message:
        message = await self._receive()
        self._taken += len(message.get("body", b""))
        self._complete = not message.get("more_body", False)
        return message

    async def drain(self) -> bool:
        """Read and drop the rest, because a client that is still writing does not read the response.

        Returns whether the body is complete; it is read for a limited time only.
        """
        most = self._taken + DRAINED_BYTES
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAINED_SECONDS):
                while not (self._complete or self._empty) and self._taken < most:
                    await self._next()
        return self._complete or self._empty
