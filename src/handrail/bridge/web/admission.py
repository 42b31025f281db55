"""Admission: which device sends a request, and whether it may.

A program sends its token as a bearer token, a browser its cookie. A page opens a socket with its cookie and a fresh
ticket, because a cookie alone would be sent by any page.
"""

from __future__ import annotations

from typing import Final

from handrail.bridge.web.devices import Access, Device
from handrail.bridge.web.guard import Visit
from handrail.bridge.web.http.route import NOBODY, Refused, Route
from handrail.bridge.web.rate_limits import Rate

__all__ = ["SUBPROTOCOL", "Admission", "Revoked"]

NATIVE: Final = "/ws"
"""The socket of the native protocol, which viewers may use."""
SUBPROTOCOL: Final = "handrail.v1"
TICKET: Final = "ticket."
READING: Final = frozenset({"GET", "HEAD"})
DEVICE_RATE: Final = (2000, 20.0)
STRANGER_RATE: Final = (300, 60.0)
OPEN_RATE: Final = (1200, 60.0)
"""Requests and seconds, per network, for routes without login: the page, health, the login itself."""
_IMAGES: Final = frozenset({"application/octet-stream", "image/png", "image/jpeg", "image/gif", "image/webp"})


class Revoked(Refused):
    """The token is valid, but its device was revoked."""

    def __init__(self) -> None:
        super().__init__(401, "revoked", "this device was revoked; log in with a new link", www_authenticate="Bearer")


class Admission:
    """Authenticates devices and limits their rates. With `ccpocket` a token may be part of that socket's URL."""

    def __init__(self, access: Access, *, ccpocket: bool) -> None:
        self._access, self._ccpocket = access, ccpocket
        self._devices, self._strangers, self._open = Rate(DEVICE_RATE), Rate(STRANGER_RATE), Rate(OPEN_RATE)

    def request(self, route: Route, method: str, visit: Visit) -> Device:
        """The device of a request, or NOBODY for a route without login. Raises Refused."""
        if route.scope is None:
            _check_rate(self._open, visit.address)
            device = NOBODY
        else:
            device = self._device(_tokens(visit), visit.address)
            _check_kind(device, ccpocket=False)
            if route.scope not in device.scopes:
                raise Refused(403, "forbidden", f"this needs the scope {route.scope!r}, which this device lacks")
        _check_change(method, visit.headers, device)
        _check_body(route, visit.headers)
        return device

    def socket(self, path: str, subprotocols: list[str], visit: Visit) -> Device:
        """The device that opens a socket. Raises Refused."""
        ccpocket = path == "/" and self._ccpocket
        if ccpocket and "authorization" not in visit.headers:
            device = self._device([dict(visit.query).get("token", "")], visit.address)
            if device.kind != "ccpocket":
                raise Refused(401, "no_login", "only a token made for ccpocket may be part of a URL")
        elif "authorization" in visit.headers:
            device = self._device(_tokens(visit), visit.address)
            _check_kind(device, ccpocket=ccpocket)
        else:
            device = self._page(path, subprotocols, visit)
        if path != NATIVE and "prompt" not in device.scopes:
            raise Refused(403, "forbidden", "the protocol of this socket shows paths and needs the scope 'prompt'")
        if path == NATIVE and SUBPROTOCOL not in subprotocols:
            raise Refused(400, "no_protocol", f"this socket needs the subprotocol {SUBPROTOCOL}")
        return device

    def _page(self, path: str, subprotocols: list[str], visit: Visit) -> Device:
        if "origin" not in visit.headers:
            raise Refused(403, "no_origin", "a page must send its origin; a program must send a token")
        device = self._device(_tokens(visit), visit.address)
        tickets = [one.removeprefix(TICKET) for one in subprotocols if one.startswith(TICKET)]
        owner = self._access.use_ticket(tickets[0]) if len(tickets) == 1 else None
        if owner is None or owner.id != device.id or path == "/":
            raise Refused(401, "no_ticket", "a page needs a new ticket for each socket; see POST /api/tickets")
        return device

    def _device(self, tokens: list[str], address: str) -> Device:
        device = next(filter(None, map(self._access.device, tokens)), None)
        if device is None:
            _check_rate(self._strangers, address)
            if any(map(self._access.is_revoked, tokens)):
                raise Revoked
            message = "log in with a link, or send the token of a device"
            raise Refused(401, "no_login", message, www_authenticate="Bearer")
        _check_rate(self._devices, device.id)
        self._access.touch(device)
        return device


def _tokens(visit: Visit) -> list[str]:
    given = visit.headers.get("authorization")
    if given is None:
        return _cookies(visit.headers, visit.cookie)
    kind, _, token = given.partition(" ")
    return [token.strip()] if kind.lower() == "bearer" else []


def _cookies(headers: dict[str, str], name: str) -> list[str]:
    """All values of a cookie. Other servers of the host share the jar and must not be able to hide ours."""
    pairs = (one.strip().partition("=") for one in headers.get("cookie", "").split(";"))
    return [value.strip('"') for given, _, value in pairs if given == name and value]


def _check_rate(rate: Rate, who: str) -> None:
    if wait := rate.take(who):
        raise Refused(429, "too_often", f"too many requests; retry in {wait} s", retry_after=str(wait))


def _check_kind(device: Device, *, ccpocket: bool) -> None:
    """A token that may be part of a URL is weaker: it is for that protocol alone, and only if it is enabled."""
    if device.kind == "ccpocket" and not ccpocket:
        raise Refused(403, "forbidden", "this token is for the ccpocket protocol, which --ccpocket enables")


def _check_change(method: str, headers: dict[str, str], device: Device) -> None:
    if method in READING or "origin" in headers or "authorization" in headers or device is NOBODY:
        return
    raise Refused(403, "no_origin", "a change that is authenticated by a cookie must send its origin")


def _check_body(route: Route, headers: dict[str, str]) -> None:
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > route.most_bytes:
        raise Refused(413, "too_large", f"the body exceeds {route.most_bytes:,} bytes")
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    present = length != "0" or "transfer-encoding" in headers
    if route.method == "GET" or not (kind or present):
        return
    if not (kind == "application/json" if route.takes == "json" else kind in _IMAGES):
        wanted = "application/json" if route.takes == "json" else "application/octet-stream or an image type"
        raise Refused(415, "bad_type", f"the content type must be {wanted}")
