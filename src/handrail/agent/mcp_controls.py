"""The control requests about MCP servers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, cast

from handrail.agent.errors import McpError
from handrail.connection.router import Refusal

if TYPE_CHECKING:
    from handrail.agent.engine import Engine

__all__ = ["MCP_HANDLERS"]

JsonObject = dict[str, Any]
_INVALID: Final = "invalid_request"
_UNSUPPORTED: Final = "unsupported_request"
LISTING_WAIT: Final = 5.0
"""Seconds that a list of resources waits for servers that are still connecting."""


async def _mcp_status(engine: Engine, fields: JsonObject) -> JsonObject:
    return {"mcpServers": engine.hub.status()}


async def _mcp_set(engine: Engine, fields: JsonObject) -> JsonObject:
    servers = fields.get("servers")
    if not isinstance(servers, dict):
        raise Refusal("mcp_set_servers: servers must be an object", _INVALID)
    return await engine.hub.set_servers(cast("dict[str, JsonObject]", servers))


async def _mcp_reconnect(engine: Engine, fields: JsonObject) -> JsonObject | None:
    return await _on_server(engine.hub.reconnect(_name(fields)))


async def _mcp_toggle(engine: Engine, fields: JsonObject) -> JsonObject | None:
    return await _on_server(engine.hub.toggle(_name(fields), enabled=fields.get("enabled") is not False))


async def _on_server(work: Awaitable[Any]) -> None:
    try:
        await work
    except McpError as error:
        raise Refusal(str(error)) from None


def _name(fields: JsonObject) -> str:
    return str(fields.get("serverName") or fields.get("server_name") or "")


async def _mcp_call(engine: Engine, fields: JsonObject) -> JsonObject:
    tool = str(fields.get("tool"))
    if engine.hub.is_of_host(tool):
        raise Refusal(f"{tool} belongs to an SDK server; call it in the host, which runs that server")
    try:
        return await engine.hub.call(tool, fields.get("arguments") or {})
    except McpError as error:
        raise Refusal(str(error)) from None


async def _mcp_list_resources(engine: Engine, fields: JsonObject) -> JsonObject:
    if not engine.has_servers:
        return {"resources": [], "errors": {}}
    await engine.hub.ready(LISTING_WAIT)
    try:
        resources, errors = await engine.hub.list_resources(_name(fields) or None)
    except McpError as error:
        raise Refusal(f"mcp_list_resources: {error}") from None
    return {"resources": resources, "errors": errors}


async def _mcp_read_resource(engine: Engine, fields: JsonObject) -> JsonObject:
    try:
        return {"contents": await engine.hub.read_resource(_name(fields), str(fields.get("uri") or ""))}
    except McpError as error:
        raise Refusal(f"mcp_read_resource: {error}") from None


async def _mcp_message(engine: Engine, fields: JsonObject) -> None:
    """Deliver a message that a server of the host sent on its own, such as a changed list of tools."""
    message = fields.get("message")
    if not isinstance(message, dict):
        raise Refusal("mcp_message: message must be an object", _INVALID)
    try:
        engine.hub.receive(_name(fields), cast("JsonObject", message))
    except McpError as error:
        raise Refusal(f"mcp_message: {error}") from None


async def _mcp_authenticate(engine: Engine, fields: JsonObject) -> None:
    try:
        engine.hub.sign_in(_name(fields))
    except McpError as error:
        raise Refusal(str(error), _UNSUPPORTED) from None


async def _mcp_oauth_callback(engine: Engine, fields: JsonObject) -> None:
    raise Refusal(f"No active OAuth flow for server: {_name(fields)[:80]}", _UNSUPPORTED)


MCP_HANDLERS: Final[dict[str, Callable[[Engine, JsonObject], Awaitable[JsonObject | None]]]] = {
    "mcp_status": _mcp_status,
    "mcp_set_servers": _mcp_set,
    "mcp_reconnect": _mcp_reconnect,
    "mcp_toggle": _mcp_toggle,
    "mcp_call": _mcp_call,
    "mcp_list_resources": _mcp_list_resources,
    "mcp_read_resource": _mcp_read_resource,
    "mcp_message": _mcp_message,
    "mcp_authenticate": _mcp_authenticate,
    "mcp_oauth_callback_url": _mcp_oauth_callback,
}
