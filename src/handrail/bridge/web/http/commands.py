"""Commands over HTTP: the same table and the same receipts as over the socket."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

from handrail.bridge.commands.executor import Commands
from handrail.bridge.web.http.route import RouteRequest, route, status_of

__all__ = ["CommandRoutes"]


class CommandBody(Struct, frozen=True, forbid_unknown_fields=True):
    """`id` is chosen by the client: the same id gives the same receipt, and the command is done once."""

    id: Annotated[str, Meta(min_length=1, max_length=64)]
    command: Annotated[str, Meta(min_length=1, max_length=64)]
    fields: dict[str, Any] = {}


class _Receipt(Struct):
    ok: bool
    error: dict[str, str] = {}


class CommandRoutes:
    """The route of all commands."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    @route("POST", "/api/commands", "view", body=CommandBody)
    async def do(self, request: RouteRequest) -> Response:
        """Do a command. Each command requires its own scope."""
        body: CommandBody = request.body
        device = request.device
        receipt = await self._commands.do(
            device.id, body.id, body.command, msgspec.json.encode(body.fields), by=device.name, scopes=device.scopes
        )
        decoded = msgspec.json.decode(receipt, type=_Receipt)
        status = 200 if decoded.ok else status_of(decoded.error.get("code", ""))
        return Response(receipt, status, media_type="application/json")
