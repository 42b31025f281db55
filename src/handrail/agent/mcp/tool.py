"""The tools of MCP servers as tools of ours. In: a server and one entry of its list. Out: a Tool.

The input goes to the server as the model gave it: its schema is the server's, so checking it is the server's too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

import msgspec

from handrail.agent.errors import McpError
from handrail.agent.mcp.content import failure_text, inline_limit, keep_in, shown
from handrail.agent.mcp.link import ServerLink, ToolEntry
from handrail.agent.tools.base import Outcome, Tool, ToolFailed

if TYPE_CHECKING:
    from handrail.agent.desk import Desk

__all__ = ["McpTool", "mcp_tool"]

JsonObject = dict[str, Any]


class McpTool(Tool[Any]):
    """One tool of one server. `read` gives the input back as the dict it was."""

    Input = msgspec.Struct
    link: ClassVar[ServerLink]
    entry: ClassVar[ToolEntry]
    limit: ClassVar[float]
    pins: ClassVar[dict[str, str]]
    """What each tool of the session said of itself when it was first seen."""

    @property
    def altered(self) -> bool:
        return self.pins[self.entry.full_name] != self.entry.fingerprint

    def accept(self) -> None:
        self.pins[self.entry.full_name] = self.entry.fingerprint

    @property
    def server(self) -> JsonObject:
        """Whose it is, as a permission prompt tells it."""
        return {"name": self.link.name, "source": self.link.source}

    def schema(self) -> JsonObject:
        return self.entry.schema

    def read(self, input: Any) -> Any:
        if not isinstance(input, dict):
            raise msgspec.ValidationError("Expected `object`")
        return cast("JsonObject", input)

    async def run(self, given: Any, desk: Desk) -> Outcome:
        try:
            result = await self.link.call(self.entry.name, given, call_id=desk.call_id, limit=self.limit)
        except McpError as error:
            raise ToolFailed(str(error)) from None
        key = self.link.key
        keep = keep_in(desk.results_folder, key)
        told = shown(result, server=key, limit=inline_limit(desk.environment), keep=keep)
        if result.get("isError") is True:
            raise ToolFailed(failure_text(told.content))
        return Outcome(told.content, told.detail)


def mcp_tool(link: ServerLink, entry: ToolEntry, *, limit: float, pins: dict[str, str]) -> McpTool:
    """The tool of an entry. `limit`: seconds that a call may take; `pins`: what tools said of themselves at first."""
    pins.setdefault(entry.full_name, entry.fingerprint)
    words = {
        "name": entry.full_name,
        "description": entry.description,
        "concurrent": entry.annotations.get("readOnlyHint") is True,
        "link": link,
        "entry": entry,
        "limit": limit,
        "pins": pins,
    }
    return type("McpTool", (McpTool,), words)()
