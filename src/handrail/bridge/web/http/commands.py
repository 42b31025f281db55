"""Commands over HTTP: the same table as over the socket, the same receipts."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from handrail.bridge.web.http.route import Asked, route, status_of

__all__: list[str] = []


class CommandBody(Struct, frozen=True, forbid_unknown_fields=True):
    """`id`: chosen by the client; the same id gives the same receipt, and the command is done once."""

    id: Annotated[str, Meta(min_length=1, max_length=64)]
    command: Annotated[str, Meta(min_length=1, max_length=64)]
    fields: dict[str, Any] = {}


class _Receipt(Struct):
    ok: bool
    error: dict[str, str] = {}


@route("POST", "/api/commands", "view", body=CommandBody)
async def do(asked: Asked) -> Response:
    """Do a command. Each has a scope of its own."""
    body: CommandBody = asked.body
    device = asked.device
    receipt = await asked.bridge.commands.do(
        device.id, body.id, body.command, msgspec.json.encode(body.fields), by=device.name, scopes=device.scopes
    )
    told = msgspec.json.decode(receipt, type=_Receipt)
    status = 200 if told.ok else status_of(told.error.get("code", ""))
    return Response(receipt, status, media_type="application/json")
