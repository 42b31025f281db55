"""The tools with which a model lists and reads resources of MCP servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from handrail.agent.errors import McpError
from handrail.agent.mcp.content import inline_limit, keep_in, resource_content
from handrail.agent.tools.base import Outcome, Tool, ToolFailed

if TYPE_CHECKING:
    from handrail.agent.desk import Desk
    from handrail.agent.mcp.hub import McpHub

__all__ = ["ListMcpResources", "ReadMcpResource"]


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
    concurrent = True
    aliases: ClassVar[tuple[str, ...]] = ("ListMcpResources",)

    def __init__(self, hub: McpHub) -> None:
        self._hub = hub

    async def run(self, given: ListInput, desk: Desk) -> Outcome:
        try:
            found, errors = await self._hub.list_resources(given.server)
        except McpError as error:
            raise ToolFailed(str(error)) from None
        if errors and not found:
            raise ToolFailed("; ".join(f"{server}: {error}" for server, error in errors.items()))
        return Outcome(msgspec.json.encode(found).decode() if found else "There are no resources.", found)


class ReadMcpResource(Tool[ReadInput]):
    """Reads one resource."""

    name = "ReadMcpResourceTool"
    description = "Reads one resource of an MCP server, by the server's name and the resource's address."
    Input = ReadInput
    concurrent = True
    aliases: ClassVar[tuple[str, ...]] = ("ReadMcpResource",)

    def __init__(self, hub: McpHub) -> None:
        self._hub = hub

    async def run(self, given: ReadInput, desk: Desk) -> Outcome:
        try:
            contents: Any = await self._hub.read_resource(given.server, given.uri)
        except McpError as error:
            raise ToolFailed(str(error)) from None
        keep = keep_in(desk.results_folder, "resource")
        blocks = resource_content(contents, server=given.server, limit=inline_limit(desk.environment), keep=keep)
        return Outcome(blocks, {"contents": blocks})
