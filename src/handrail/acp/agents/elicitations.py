"""Questions of an ACP agent to the user, `elicitation/create`, as the elicitation requests that hosts know.

Hosts show them as they show the questions of an MCP server: a form by its schema, or an address to open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

import msgspec

from handrail.acp.rpc import INVALID_PARAMS, RpcError
from handrail.connection import ControlError, Disconnected
from handrail.schema.acp import messages as acp

__all__ = ["Elicitations"]

JsonObject = dict[str, Any]
MOST_FIELDS: Final = 100
"""Fields of a form."""
_ACTIONS: Final = ("accept", "decline", "cancel")


class Elicitations:
    """Passes the questions of one session on. `agent` names it, `ask_host` is None without a host to ask."""

    def __init__(
        self, agent: Callable[[], str], ask_host: Callable[[JsonObject], Awaitable[JsonObject]] | None
    ) -> None:
        self._agent, self._ask_host = agent, ask_host
        self._pending: set[asyncio.Future[JsonObject]] = set()

    async def answer(self, request: acp.CreateElicitationRequest) -> acp.CreateElicitationResponse:
        """Ask one question. Raises RpcError for one that hosts cannot show."""
        fields = {"mcp_server_name": self._agent(), "message": request.message, **_question(request)}
        if self._ask_host is None:
            return acp.CreateElicitationResponse(action="decline")
        asking = asyncio.ensure_future(self._ask_host(fields))
        self._pending.add(asking)
        try:
            await asyncio.wait([asking])
        finally:
            self._pending.discard(asking)
            asking.cancel()
        if asking.cancelled():
            return acp.CreateElicitationResponse(action="cancel")
        try:
            return _response(asking.result())
        except (ControlError, Disconnected):  # the host shows no such questions, or it has ended
            return acp.CreateElicitationResponse(action="decline")

    def withdraw(self) -> None:
        """Withdraw all pending questions, because the turn is interrupted."""
        for asking in self._pending:
            asking.cancel()


def _question(request: acp.CreateElicitationRequest) -> JsonObject:
    """The fields of a question that depend on its kind. Raises RpcError."""
    if request.mode == "url":
        if not (request.url or "").startswith(("https://", "http://")):
            raise RpcError(INVALID_PARAMS, f"elicitation/create: url must be an http address, not {request.url!s:.80}")
        return {"mode": "url", "url": request.url, "elicitation_id": request.elicitation_id or ""}
    if request.mode not in (None, "form"):
        raise RpcError(INVALID_PARAMS, f"elicitation/create: handrail-acp lacks the mode {request.mode[:80]!r}")
    schema = request.requested_schema or acp.ElicitationSchema(properties={})
    if len(schema.properties or ()) > MOST_FIELDS:
        raise RpcError(INVALID_PARAMS, f"elicitation/create: a form has at most {MOST_FIELDS} fields")
    return {"mode": "form", "requested_schema": {"type": "object", **msgspec.to_builtins(schema)}}


def _response(answer: JsonObject) -> acp.CreateElicitationResponse:
    action, content = answer.get("action"), answer.get("content")
    if action not in _ACTIONS:
        return acp.CreateElicitationResponse(action="cancel")
    given = cast("JsonObject", content) if action == "accept" and isinstance(content, dict) else None
    return acp.CreateElicitationResponse(action=str(action), content=given)
