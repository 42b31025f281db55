"""What is asked of the host, of its hooks and of the tool that decides for it. In: questions. Out: answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from handrail.agent.engine import Engine
    from handrail.agent.permission import Question

__all__ = ["Asking"]

JsonObject = dict[str, Any]


class Asking:
    """The questions of one session."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def who_decides(self) -> Callable[[JsonObject], Awaitable[JsonObject]] | None:
        """Who is asked about a call: the host, an MCP tool, or nobody."""
        tool = self._engine.arguments.permission_prompt_tool
        if tool == "stdio" and self._engine.host.listens:
            return lambda fields: self._engine.host.ask("can_use_tool", fields)
        return self._ask_tool if tool.startswith("mcp__") else None

    async def _ask_tool(self, fields: JsonObject) -> JsonObject:
        given = {name: fields[name] for name in ("tool_name", "input", "tool_use_id")}
        found = await self._engine.hub.call(self._engine.arguments.permission_prompt_tool, given)
        text = "".join(block.get("text", "") for block in found.get("content", ()) if block.get("type") == "text")
        try:
            return msgspec.json.decode(text, type=dict[str, Any])
        except msgspec.DecodeError:
            return {}

    async def ask_hooks(self, question: Question) -> JsonObject | None:
        """Hooks for PermissionRequest: what they decide, if they do."""
        thread = self._engine.thread
        fields = thread.hook_input("PermissionRequest", tool_name=question.tool, tool_input=question.input)
        found = await thread.hear("PermissionRequest", fields, tool_use_id=question.call_id)
        return found.permission

    async def call_back(self, callback_id: str, given: JsonObject, tool_use_id: str | None) -> JsonObject:
        """A hook of the host."""
        fields = {"callback_id": callback_id, "input": given, "tool_use_id": tool_use_id}
        return await self._engine.host.ask("hook_callback", fields)

    async def send_to_server(self, server: str, message: JsonObject) -> JsonObject:
        """A message to an MCP server that runs in the host."""
        answer = await self._engine.host.ask("mcp_message", {"server_name": server, "message": message})
        return answer.get("mcp_response") or {}

    async def elicit(self, fields: JsonObject) -> JsonObject:
        """An MCP server asks the user for something."""
        return await self._engine.host.ask("elicitation", fields)
