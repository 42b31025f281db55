"""Commands about the MCP servers of a session: status, enable and disable, replace, sign in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

from msgspec import Meta

from handrail.bridge.commands.table import AuditCall, Call, Fields, Id, Name, OfSession, command
from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.sessions import Sessions
from handrail.schema.agent_answers import McpServerStatus
from handrail.transport.masking import mask_text

__all__ = ["McpCommands", "safe_address", "shown_servers"]

JsonObject = dict[str, Any]
SIGN_IN_SECONDS: Final = 30.0
"""How long the CLI may take to return the sign-in URL."""
Address = Annotated[str, Meta(min_length=1, max_length=8192, pattern=r"^https?://[^\s\x00-\x1f\x7f]+$")]
LONGEST_ADDRESS: Final = 8192
MOST_TOOLS: Final = 500
LONGEST_TEXT: Final = 2000


class OfServer(Fields, frozen=True, kw_only=True):
    """An MCP server of the session."""

    session: Id
    server: Name


class McpToggle(Fields, frozen=True, kw_only=True):
    """Disable a server, or enable it."""

    session: Id
    server: Name
    enabled: bool


class McpSet(Fields, frozen=True, kw_only=True):
    """Server configurations by name, in the CLI's format."""

    session: Id
    servers: dict[str, dict[str, Any]]


class SignedIn(Fields, frozen=True, kw_only=True):
    """`url`: the address to which the browser was redirected after the sign-in."""

    session: Id
    server: Name
    url: Address


class McpCommands:
    """Handlers for MCP servers."""

    def __init__(self, sessions: Sessions, audit: AuditCall) -> None:
        self._sessions, self._audit = sessions, audit

    @command("mcp_status", "prompt", reads=True)
    async def mcp_status(self, call: Call, fields: OfSession) -> JsonObject:
        """The state and the tools of each server, whether it offers a sign-in, and the URL of one that has begun."""
        host = await self._sessions.get(fields.session)
        if not host.running:
            return {"servers": [], "running": False}
        answer = await host.session.mcp_status()
        return {"servers": shown_servers(answer.servers, host.sign_ins), "running": True}

    @command("mcp_reconnect", "prompt")
    async def mcp_reconnect(self, call: Call, fields: OfServer) -> None:
        """Reconnect a server."""
        await (await self._sessions.get(fields.session)).session.mcp_reconnect(fields.server)

    @command("mcp_toggle", "prompt")
    async def mcp_toggle(self, call: Call, fields: McpToggle) -> None:
        """Enable or disable a server."""
        session = (await self._sessions.get(fields.session)).session
        await session.mcp_toggle(fields.server, enabled=fields.enabled)

    @command("mcp_set", "admin")
    async def mcp_set(self, call: Call, fields: McpSet) -> JsonObject:
        """Replace the servers that were set before; the setting survives a restart of the process."""
        host = await self._sessions.get(fields.session)
        answer = await host.session.mcp_set_servers(fields.servers)
        await host.update(options={**host.record.options, "mcp_servers": fields.servers})
        await self._audit(call, "mcp_set", session=fields.session, servers=sorted(fields.servers))
        return {"added": answer.added, "removed": answer.removed, "errors": answer.errors}

    @command("mcp_sign_in", "admin")
    async def mcp_sign_in(self, call: Call, fields: OfServer) -> JsonObject:
        """Begin a sign-in. Returns the URL to open, and whether the CLI waits for the redirect.

        The CLI listens for the redirect on its own machine. A browser on another machine cannot follow it; the client
        then sends the redirect's URL with `mcp_sign_in_finish`.
        """
        host = await self._sessions.get(fields.session)
        answer = await host.session.control("mcp_authenticate", timeout=SIGN_IN_SECONDS, serverName=fields.server)
        address = safe_address(answer.get("authUrl"))
        if answer.get("authUrl") and not address:
            raise CommandRefused("failed", "the MCP server returned an unsafe sign-in URL")
        await self._audit(call, "mcp_sign_in", session=fields.session, server=fields.server)
        if address:
            host.sign_ins[fields.server] = address
        return {"auth_url": address, "finish": answer.get("callbackExpected") is True}

    @command("mcp_sign_in_finish", "admin")
    async def mcp_sign_in_finish(self, call: Call, fields: SignedIn) -> None:
        """Finish a sign-in by hand. The URL contains a credential: it is passed to the CLI and never logged."""
        host = await self._sessions.get(fields.session)
        given = {"serverName": fields.server, "callbackUrl": fields.url}
        await host.session.control("mcp_oauth_callback_url", timeout=SIGN_IN_SECONDS, **given)
        host.sign_ins.pop(fields.server, None)
        await self._audit(call, "mcp_sign_in_finish", session=fields.session, server=fields.server)


def shown_servers(servers: Iterable[McpServerStatus], sign_ins: Mapping[str, str]) -> list[JsonObject]:
    """The servers without their configuration, which contains keys. `sign_ins`: URLs of sign-ins that have begun."""
    return [_shown(one, sign_ins.get(one.name, "")) for one in servers]


def _shown(one: McpServerStatus, address: str) -> JsonObject:
    tools = [{"name": tool.name, "description": tool.description[:LONGEST_TEXT]} for tool in one.tools[:MOST_TOOLS]]
    shown = {"name": one.name, "status": one.status, "error": mask_text(one.error[:LONGEST_TEXT]), "tools": tools}
    shown |= {"transport": one.transport, "scope": one.scope, "source": one.source}
    # The embedded agent reports whether it can sign in to a server; the real CLI does not report it, but can.
    sign_in = one.status == "needs-auth" and one.sign_in is not False
    return {**shown, "sign_in": sign_in, **({"auth_url": address} if address and one.status == "needs-auth" else {})}


def safe_address(given: Any) -> str:
    """A URL that a person may open; "" for anything else."""
    if not isinstance(given, str) or len(given) > LONGEST_ADDRESS or not given.isascii() or not given.isprintable():
        return ""
    return given if given.startswith(("https://", "http://")) and " " not in given else ""
