"""Coming in and going out: links, cookies, tickets."""

from __future__ import annotations

from typing import Annotated, Any, Final

from msgspec import Meta, Struct
from starlette.responses import Response

from handrail.bridge.commands.table import SCOPES, Scope
from handrail.bridge.web.http.route import Asked, Refused, json_answer, route

__all__: list[str] = []

COOKIE_SECONDS: Final = 30 * 86400
LOGIN_BYTES: Final = 4096
"""Of somebody who is nobody yet no more is read."""


@route("GET", "/api/health", None)
async def health(asked: Asked) -> dict[str, Any]:
    """Is the server there?"""
    return {"ok": True}


class Login(Struct, frozen=True, forbid_unknown_fields=True):
    """The secret of a one-time link; `name` is what the device shall be called."""

    link: Annotated[str, Meta(max_length=200)]
    name: Annotated[str, Meta(max_length=80)] = ""


@route("POST", "/api/login", None, body=Login, most_bytes=LOGIN_BYTES)
async def login(asked: Asked) -> Response:
    """Become a device: the link is used up, a cookie takes its place."""
    if wait := asked.app.logins.take(asked.address):
        raise Refused(429, "too_often", f"too many logins from this address: wait {wait} s", retry_after=str(wait))
    found = await asked.bridge.access.open_link(asked.body.link, asked.body.name or asked.agent)
    if found is None:
        raise Refused(401, "bad_link", "this link was used already, or is too old: have another one made")
    asked.app.logins.give_back(asked.address)
    device, token = found
    await asked.note("login", by=device, scopes=sorted(device.scopes), address=asked.address)
    response = json_answer({"device": device.id, "name": device.name, "scopes": sorted(device.scopes)})
    response.set_cookie(
        asked.cookie, token, httponly=True, samesite="strict", secure=asked.secure, path="/", max_age=COOKIE_SECONDS
    )
    return response


@route("POST", "/api/logout", "view")
async def logout(asked: Asked) -> Response:
    """Be a device no more."""
    await asked.bridge.access.revoke(asked.device.id)
    await asked.note("logout")
    response = json_answer({})
    response.delete_cookie(asked.cookie, path="/", httponly=True, samesite="strict", secure=asked.secure)
    return response


@route("POST", "/api/tickets", "view")
async def ticket(asked: Asked) -> dict[str, Any]:
    """A secret that opens one socket, once, within a minute."""
    return {"ticket": asked.bridge.access.make_ticket(asked.device)}


class Link(Struct, frozen=True, forbid_unknown_fields=True):
    """What the device that opens it may do. `page`: the address that the link shall lead to, for a picture of it."""

    scopes: Annotated[tuple[Scope, ...], Meta(min_length=1)] = SCOPES
    page: Annotated[str, Meta(max_length=300, pattern=r"^(https?://[^\s#?]+)?$")] = ""


@route("POST", "/api/links", "admin", body=Link)
async def link(asked: Asked) -> Response:
    """A one-time link for one more device. It belongs after a # in an address, never after a ?."""
    secret = await asked.bridge.access.make_link(asked.body.scopes, maker=asked.device.id)
    await asked.note("make_link", scopes=sorted(set(asked.body.scopes)))
    return json_answer(
        {"link": secret, "qr": _picture(f"{asked.body.page}/#link={secret}") if asked.body.page else []}, 201
    )


def _picture(text: str) -> list[str]:
    """A text as a QR code: a line per row, 1 for dark."""
    import segno

    return [bytes(48 + bit for bit in row).decode() for row in segno.make(text, error="m", micro=False).matrix]
