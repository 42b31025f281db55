"""Requests to the host: permissions, hooks, MCP servers that run in it, and questions of MCP servers to the user."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from handrail.agent.base import Host
from handrail.agent.errors import McpError, Refused

if TYPE_CHECKING:
    from handrail.agent.conversation.thread import Thread

__all__ = ["Elicitations", "HostRequests"]

JsonObject = dict[str, Any]
_ASKED: Final = ("mcp_server_name", "message", "mode", "url", "elicitation_id", "requested_schema")


class HostRequests:
    """The requests of one session.

    `prompt_tool` is the value of --permission-prompt-tool; `call_tool` calls an MCP tool by its full name, and
    `has_tool` says whether there is one.
    """

    def __init__(
        self,
        host: Host,
        *,
        prompt_tool: str,
        call_tool: Callable[[str, JsonObject], Awaitable[JsonObject]],
        has_tool: Callable[[str], bool],
    ) -> None:
        self._host, self._prompt_tool, self._call_tool, self._has_tool = host, prompt_tool, call_tool, has_tool

    def permission(self) -> Callable[[JsonObject], Awaitable[JsonObject]] | None:
        """The function that asks for permission: the host, or an MCP tool. None if no one can be asked."""
        if self._prompt_tool == "stdio" and self._host.listens:
            return lambda fields: self._host.ask("can_use_tool", fields)
        return self._ask_tool if self._prompt_tool.startswith("mcp__") else None

    async def _ask_tool(self, fields: JsonObject) -> JsonObject:
        given = {name: fields[name] for name in ("tool_name", "input", "tool_use_id")}
        try:
            found = await self._call_tool(self._prompt_tool, given)
        except McpError as error:
            if self._has_tool(self._prompt_tool):
                raise
            raise Refused(
                f"Error: MCP tool {self._prompt_tool} (passed via --permission-prompt-tool) not found: {error}"
            ) from None
        text = "".join(block.get("text", "") for block in found.get("content", ()) if block.get("type") == "text")
        try:
            return msgspec.json.decode(text, type=dict[str, Any])
        except msgspec.DecodeError:
            return {}

    async def call_hook(self, callback_id: str, given: JsonObject, tool_use_id: str | None) -> JsonObject:
        """Call a hook of the host."""
        fields = {"callback_id": callback_id, "input": given, "tool_use_id": tool_use_id}
        return await self._host.ask("hook_callback", fields)

    async def send_to_server(self, server: str, message: JsonObject) -> JsonObject:
        """Send a message to an MCP server that runs in the host."""
        answer = await self._host.ask("mcp_message", {"server_name": server, "message": message})
        return answer.get("mcp_response") or {}

    async def elicit(self, fields: JsonObject) -> JsonObject:
        """Pass a question of an MCP server on to the user."""
        return await self._host.ask("elicitation", fields)


class Elicitations:
    """Passes questions to the host. Elicitation hooks may answer instead, and ElicitationResult hooks may overrule."""

    def __init__(self, ask: Callable[[JsonObject], Awaitable[JsonObject]], thread: Callable[[], Thread]) -> None:
        self._ask, self._thread = ask, thread

    async def elicit(self, fields: JsonObject) -> JsonObject:
        """Ask one question. Returns `action` and `content`."""
        about = {name: fields[name] for name in _ASKED if name in fields}
        answer = await self._hooks("Elicitation", about)
        if answer is None:
            answer = await self._ask(fields)
        given = {name: answer[name] for name in ("action", "content") if name in answer}
        about = {name: about[name] for name in ("mcp_server_name", "elicitation_id", "mode") if name in about}
        return await self._hooks("ElicitationResult", {**about, **given}) or answer

    async def _hooks(self, event: str, about: JsonObject) -> JsonObject | None:
        """The answer of the hooks, if they give one."""
        thread = self._thread()
        found = await thread.hear(event, thread.hook_input(event, **about))
        return {"action": "decline"} if found.block else found.elicitation
