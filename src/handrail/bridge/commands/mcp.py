"""Commands about the MCP servers of a session: how they are, on and off, others, signing in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import Meta

from handrail.bridge.commands.fields import Name, OfSession
from handrail.bridge.commands.mcp_servers import safe_address, shown_servers
from handrail.bridge.commands.table import Call, command
from handrail.bridge.errors import CommandRefused

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge

__all__: list[str] = []

JsonObject = dict[str, Any]
SIGN_IN_SECONDS: Final = 30.0
"""So long the server may take to say where to sign in."""
Address = Annotated[str, Meta(min_length=1, max_length=8192, pattern=r"^https?://[^\s\x00-\x1f\x7f]+$")]


@command("mcp_status", "prompt", reads=True)
async def mcp_status(bridge: Bridge, call: Call, fields: OfSession) -> JsonObject:
    """How each server is and which tools it has. Where one waits for a sign-in that was begun: the address to open."""
    host = await bridge.sessions.get(fields.session)
    if not host.running:
        return {"servers": [], "running": False}
    answer = await host.session.mcp_status()
    return {"servers": shown_servers(answer.servers, host.sign_ins), "running": True}


class OfServer(OfSession, frozen=True, kw_only=True):
    """An MCP server of the session."""

    server: Name


@command("mcp_reconnect", "prompt")
async def mcp_reconnect(bridge: Bridge, call: Call, fields: OfServer) -> None:
    """Connect to it anew."""
    await (await bridge.sessions.get(fields.session)).session.mcp_reconnect(fields.server)


class McpToggle(OfServer, frozen=True, kw_only=True):
    """Off, or on."""

    enabled: bool


@command("mcp_toggle", "prompt")
async def mcp_toggle(bridge: Bridge, call: Call, fields: McpToggle) -> None:
    """Switch it off or on."""
    session = (await bridge.sessions.get(fields.session)).session
    await session.mcp_toggle(fields.server, enabled=fields.enabled)


class McpSet(OfSession, frozen=True, kw_only=True):
    """Servers by name, in the CLI's format."""

    servers: dict[str, dict[str, Any]]


@command("mcp_set", "admin")
async def mcp_set(bridge: Bridge, call: Call, fields: McpSet) -> JsonObject:
    """Put these in place of those that were set before, also after the process was ended and resumed."""
    host = await bridge.sessions.get(fields.session)
    answer = await host.session.mcp_set_servers(fields.servers)
    await host.update(options={**host.record.options, "mcp_servers": fields.servers})
    await bridge.audit(call, "mcp_set", session=fields.session, servers=sorted(fields.servers))
    return {"added": answer.added, "removed": answer.removed, "errors": answer.errors}


@command("mcp_sign_in", "admin")
async def mcp_sign_in(bridge: Bridge, call: Call, fields: OfServer) -> JsonObject:
    """Begin to sign in to a server. Out: the address that a person opens, and whether the CLI waits for where it leads.

    The CLI waits for the browser on its own machine; a browser elsewhere ends at an address that it cannot open, and
    `mcp_sign_in_finish` is given that address.
    """
    host = await bridge.sessions.get(fields.session)
    told = await host.session.control("mcp_authenticate", timeout=SIGN_IN_SECONDS, serverName=fields.server)
    address = safe_address(told.get("authUrl"))
    if told.get("authUrl") and not address:
        raise CommandRefused("failed", "the server names a place to sign in that no page should open")
    await bridge.audit(call, "mcp_sign_in", session=fields.session, server=fields.server)
    if address:
        host.sign_ins[fields.server] = address
    return {"auth_url": address, "finish": told.get("callbackExpected") is True}


class SignedIn(OfServer, frozen=True, kw_only=True):
    """Where the browser was led after the person had signed in."""

    url: Address


@command("mcp_sign_in_finish", "admin")
async def mcp_sign_in_finish(bridge: Bridge, call: Call, fields: SignedIn) -> None:
    """End a sign-in by hand. The address holds what signs in: it goes to the CLI and is written down nowhere."""
    host = await bridge.sessions.get(fields.session)
    given = {"serverName": fields.server, "callbackUrl": fields.url}
    await host.session.control("mcp_oauth_callback_url", timeout=SIGN_IN_SECONDS, **given)
    host.sign_ins.pop(fields.server, None)
    await bridge.audit(call, "mcp_sign_in_finish", session=fields.session, server=fields.server)
