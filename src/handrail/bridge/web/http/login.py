"""Log in by a one-time link, log out, tickets for sockets, new links."""

from __future__ import annotations

from typing import Annotated, Any, Final

from msgspec import Meta, Struct
from starlette.responses import Response

from handrail.bridge.addresses import is_here
from handrail.bridge.commands.table import SCOPES, Scope
from handrail.bridge.store.audit import Audit
from handrail.bridge.web.devices import Access
from handrail.bridge.web.http.route import Refused, RouteRequest, json_answer, note, route
from handrail.bridge.web.rate_limits import Rate

__all__ = ["LoginRoutes"]

COOKIE_SECONDS: Final = 30 * 86400
LOGIN_BYTES: Final = 4096
"""The largest body that is read before a login."""
LOGINS: Final = ((2, 60.0), (12, 3600.0))
"""Failed logins per network and seconds."""


class Login(Struct, frozen=True, forbid_unknown_fields=True):
    """The secret of a one-time link, and a name for the device."""

    link: Annotated[str, Meta(max_length=200)]
    name: Annotated[str, Meta(max_length=80)] = ""


class Link(Struct, frozen=True, forbid_unknown_fields=True):
    """The scopes of the device that opens the link. `page`: the address of the page, to get a QR code of the link."""

    scopes: Annotated[tuple[Scope, ...], Meta(min_length=1)] = SCOPES
    page: Annotated[str, Meta(max_length=300, pattern=r"^(https?://[^\s#?]+)?$")] = ""


class LoginRoutes:
    """Turns links into devices, and devices into tickets."""

    def __init__(self, access: Access, audit: Audit, *, phone_address: str = "", fingerprint: str = "") -> None:
        self._access, self._audit = access, audit
        self._phone_address, self._fingerprint = phone_address, fingerprint
        self._logins = Rate(*LOGINS)

    @route("POST", "/api/login", None, body=Login, most_bytes=LOGIN_BYTES)
    async def login(self, request: RouteRequest) -> Response:
        """Exchange a link for a cookie. The link is used up."""
        if wait := self._logins.take(request.address):
            message = f"too many logins from this address; retry in {wait} s"
            raise Refused(429, "too_often", message, retry_after=str(wait))
        found = await self._access.open_link(request.body.link, request.body.name or request.agent)
        if found is None:
            raise Refused(401, "bad_link", "this link was used already or has expired; create a new one")
        self._logins.give_back(request.address)
        device, token = found
        await note(self._audit, device, "login", scopes=sorted(device.scopes), address=request.address)
        response = json_answer({"device": device.id, "name": device.name, "scopes": sorted(device.scopes)})
        response.set_cookie(
            request.cookie,
            token,
            httponly=True,
            samesite="strict",
            secure=request.secure,
            path="/",
            max_age=COOKIE_SECONDS,
        )
        return response

    @route("POST", "/api/logout", "view")
    async def logout(self, request: RouteRequest) -> Response:
        """Revoke this device."""
        await self._access.revoke(request.device.id)
        await note(self._audit, request.device, "logout")
        response = json_answer({})
        response.delete_cookie(request.cookie, path="/", httponly=True, samesite="strict", secure=request.secure)
        return response

    @route("POST", "/api/tickets", "view")
    async def ticket(self, request: RouteRequest) -> dict[str, Any]:
        """A secret that opens one socket within a minute."""
        return {"ticket": self._access.make_ticket(request.device)}

    @route("POST", "/api/links", "admin", body=Link)
    async def link(self, request: RouteRequest) -> Response:
        """A one-time link for another device. It goes into the fragment of a URL, never into the query."""
        secret = await self._access.make_link(request.body.scopes, maker=request.device.id)
        await note(self._audit, request.device, "make_link", scopes=sorted(set(request.body.scopes)))
        page = request.body.page
        if page and is_here(page):  # the page may be open on this machine while the link is for a phone
            page = self._phone_address or page
        qr = _qr_code(f"{page}/#link={secret}") if page else []
        return json_answer({"link": secret, "page": page, "qr": qr}, 201)

    @route("GET", "/api/phone", "admin")
    async def phone(self, request: RouteRequest) -> dict[str, Any]:
        """The address for other devices, "" if they cannot reach the server, and the fingerprint of its certificate."""
        return {"address": self._phone_address, "fingerprint": self._fingerprint}


def _qr_code(text: str) -> list[str]:
    """A QR code: one string per row, "1" for a dark module."""
    import segno

    return [bytes(48 + bit for bit in row).decode() for row in segno.make(text, error="m", micro=False).matrix]
