"""Tools that MCP servers add to a session: their own, and those that list and read their resources.

The input of a server's tool is passed on unchecked: the schema is the server's, and so is the check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, cast

import msgspec
from msgspec import Meta

from handrail.agent.errors import McpError
from handrail.agent.mcp.content import (
    failure_text,
    inline_limit,
    keep_in,
    malformed,
    resource_content,
    save_large,
    shown,
)
from handrail.agent.mcp.link import ServerLink, ToolEntry
from handrail.agent.tools.base import Outcome, Tool, ToolFailed

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk

__all__ = ["ListMcpResources", "McpTool", "ReadMcpResource", "mcp_tool"]

JsonObject = dict[str, Any]


class McpTool(Tool[Any]):
    """One tool of one server. `read` returns the input as the same dict."""

    Input = msgspec.Struct
    strict = False
    link: ClassVar[ServerLink]
    entry: ClassVar[ToolEntry]
    limit: ClassVar[float]
    pins: ClassVar[dict[str, str]]
    """The fingerprint of each tool of the session when it was first seen or last accepted."""

    @property
    def altered(self) -> bool:
        return self.pins[self.entry.full_name] != self.entry.fingerprint

    def accept(self) -> None:
        self.pins[self.entry.full_name] = self.entry.fingerprint

    @property
    def server(self) -> JsonObject:
        """The server, as permission prompts name it."""
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
        if problem := malformed(result):
            raise ToolFailed(f'MCP server "{self.link.name}" returned a malformed result: {problem}')
        key, limit = self.link.key, inline_limit(desk.environment)
        keep = keep_in(desk.results_folder, key, call_id=desk.call_id)
        failed = result.get("isError") is True
        saved = "" if failed else save_large(result, limit, keep)
        found = shown(result, server=key, limit=limit, keep=keep_in("", key) if saved else keep)
        if failed:
            raise ToolFailed(failure_text(found.content))
        nothing = [{"type": "text", "text": f"({self.name} completed with no output)"}]
        return Outcome(saved or found.content or nothing, found.detail)


def mcp_tool(link: ServerLink, entry: ToolEntry, *, limit: float, pins: dict[str, str]) -> McpTool:
    """The tool of an entry. `limit`: seconds that a call may take; `pins`: known fingerprints by full name."""
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


class Resources(Protocol):
    """Lists and reads the resources of MCP servers."""

    async def list_resources(self, server: str | None = None) -> tuple[list[JsonObject], dict[str, str]]:
        """The resources of one server or of all, and the errors by server."""
        ...

    async def read_resource(self, server: str, uri: str) -> list[JsonObject]:
        """The contents of one resource."""
        ...


class ListInput(msgspec.Struct, omit_defaults=True):
    server: Annotated[str | None, Meta(description="Only the resources of this server")] = None


class ReadInput(msgspec.Struct):
    server: Annotated[str, Meta(description="The server's name")]
    uri: Annotated[str, Meta(description="The address of the resource, as the server lists it")]


class ListMcpResources(Tool[ListInput]):
    """Lists resources."""

    name = "ListMcpResourcesTool"
    description = "Lists the resources that MCP servers offer, each with the name of its server."
    Input = ListInput
    strict = False
    concurrent = True
    aliases: ClassVar[tuple[str, ...]] = ("ListMcpResources",)

    def __init__(self, hub: Resources) -> None:
        self._hub = hub

    async def run(self, given: ListInput, desk: Desk) -> Outcome:
        try:
            found, errors = await self._hub.list_resources(given.server)
        except McpError as error:
            raise ToolFailed(str(error)) from None
        if errors and not found:
            raise ToolFailed("; ".join(f"{server}: {error}" for server, error in errors.items()))
        return Outcome(msgspec.json.encode(found).decode() if found else "No resources found.", found)


class ReadMcpResource(Tool[ReadInput]):
    """Reads one resource."""

    name = "ReadMcpResourceTool"
    description = "Reads one resource of an MCP server, by the server's name and the resource's address."
    Input = ReadInput
    strict = False
    concurrent = True
    aliases: ClassVar[tuple[str, ...]] = ("ReadMcpResource",)

    def __init__(self, hub: Resources) -> None:
        self._hub = hub

    async def run(self, given: ReadInput, desk: Desk) -> Outcome:
        try:
            contents = await self._hub.read_resource(given.server, given.uri)
        except McpError as error:
            raise ToolFailed(str(error)) from None
        keep, limit = keep_in(desk.results_folder, "resource"), inline_limit(desk.environment)
        texts = [
            {key: part[key] for key in ("uri", "mimeType", "text") if isinstance(part.get(key), str)}
            for part in contents
        ]
        if all("text" in part for part in texts) and sum(len(part["text"]) for part in texts) <= limit:
            found = {"contents": texts}
            return Outcome(msgspec.json.encode(found).decode(), found)
        blocks = resource_content(contents, server=given.server, limit=limit, keep=keep)
        return Outcome(blocks, {"contents": blocks})
