"""Control requests about MCP servers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from handrail.agent.controls.table import INVALID, control
from handrail.agent.errors import McpError
from handrail.connection.router import Refusal
from handrail.schema import agent_answers as answers
from handrail.schema.control_view import AnswerView

if TYPE_CHECKING:
    from handrail.agent.mcp.hub import McpHub

__all__ = ["McpControls", "server_statuses"]

JsonObject = dict[str, Any]
LISTING_WAIT: Final = 5.0
"""Seconds that a list of resources waits for servers that are still connecting."""


def server_statuses(hub: McpHub) -> list[answers.McpServerStatus]:
    """The status of each server as views."""
    return msgspec.convert(hub.status(), list[answers.McpServerStatus])


class McpControls:
    """Handlers for MCP servers. `hub` makes the hub at the first call; `has_servers` says whether it was made."""

    def __init__(self, hub: Callable[[], McpHub], has_servers: Callable[[], bool]) -> None:
        self._hub, self._has_servers = hub, has_servers

    @control("mcp_status")
    async def status(self, fields: JsonObject) -> answers.McpStatusAnswer:
        return answers.McpStatusAnswer(servers=server_statuses(self._hub()))

    @control("mcp_set_servers")
    async def set_servers(self, fields: JsonObject) -> answers.McpSetServersAnswer:
        try:
            servers = msgspec.convert(fields.get("servers"), dict[str, JsonObject])
        except msgspec.ValidationError:
            raise Refusal("mcp_set_servers: servers must be an object of objects", INVALID) from None
        changes = await self._hub().set_servers(servers)
        return msgspec.convert(changes, answers.McpSetServersAnswer)

    @control("mcp_reconnect")
    async def reconnect(self, fields: JsonObject) -> None:
        await _on_server(self._hub().reconnect(_name(fields)))

    @control("mcp_toggle")
    async def toggle(self, fields: JsonObject) -> None:
        await _on_server(self._hub().toggle(_name(fields), enabled=fields.get("enabled") is not False))

    @control("mcp_call")
    async def call(self, fields: JsonObject) -> answers.McpCallAnswer:
        tool = str(fields.get("tool"))
        if self._hub().is_of_host(tool):
            raise Refusal(f"{tool} belongs to an SDK server; call it in the host, which runs that server")
        try:
            result = await self._hub().call(tool, fields.get("arguments") or {})
        except McpError as error:
            raise Refusal(str(error)) from None
        return msgspec.convert(result, answers.McpCallAnswer)

    @control("mcp_list_resources")
    async def list_resources(self, fields: JsonObject) -> answers.McpResourcesAnswer:
        if not self._has_servers():
            return answers.McpResourcesAnswer()
        await self._hub().ready(LISTING_WAIT)
        try:
            resources, errors = await self._hub().list_resources(_name(fields) or None)
        except McpError as error:
            raise Refusal(f"mcp_list_resources: {error}") from None
        return answers.McpResourcesAnswer(
            resources=msgspec.convert(resources, list[answers.McpResource]), errors=errors
        )

    @control("mcp_read_resource")
    async def read_resource(self, fields: JsonObject) -> answers.McpReadResourceAnswer:
        try:
            contents = await self._hub().read_resource(_name(fields), str(fields.get("uri") or ""))
        except McpError as error:
            raise Refusal(f"mcp_read_resource: {error}") from None
        return answers.McpReadResourceAnswer(contents=contents)

    @control("mcp_message")
    async def message(self, fields: JsonObject) -> None:
        """Deliver a message that a server of the host sent on its own, such as a changed list of tools.

        Like in the CLI, a message that no server of the host can have sent is acknowledged and dropped.
        """
        message = fields.get("message")
        if isinstance(message, dict) and self._has_servers():
            with suppress(McpError):
                self._hub().receive(_name(fields), cast("JsonObject", message))

    @control("mcp_authenticate")
    async def authenticate(self, fields: JsonObject) -> answers.McpAuthenticateAnswer:
        """Begin to sign in to a server. The answer has the address that the user opens."""
        redirect_uri = fields.get("redirectUri") or ""
        if not isinstance(redirect_uri, str):
            raise Refusal("mcp_authenticate: redirectUri must be text", INVALID)
        try:
            begun = await self._hub().sign_in(
                _name(fields), redirect_uri=redirect_uri, only=fields.get("redirectUriOnly") is True
            )
        except McpError as error:
            raise Refusal(str(error)) from None
        if not begun.address:
            return answers.McpAuthenticateAnswer()
        return answers.McpAuthenticateAnswer(
            requires_user_action=True,
            auth_url=begun.address,
            callback_expected=True,
            redirect_scheme="localhost" if begun.port else "custom",
            state=begun.state,
            callback_port=begun.port or None,
        )

    @control("mcp_oauth_callback_url")
    async def oauth_callback(self, fields: JsonObject) -> None:
        """Finish a sign-in with the address to which the browser was redirected. Answers once it is connected."""
        address = fields.get("callbackUrl")
        if not isinstance(address, str):
            raise Refusal("mcp_oauth_callback_url: callbackUrl must be text", INVALID)
        await _on_server(self._hub().finish_sign_in(_name(fields), address))

    @control("mcp_clear_auth")
    async def clear_auth(self, fields: JsonObject) -> AnswerView:
        """Delete the tokens of a server."""
        await _on_server(self._hub().sign_out(_name(fields)))
        return AnswerView()


async def _on_server(work: Awaitable[Any]) -> None:
    try:
        await work
    except McpError as error:
        raise Refusal(str(error)) from None


def _name(fields: JsonObject) -> str:
    return str(fields.get("serverName") or fields.get("server_name") or "")
