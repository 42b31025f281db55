"""Tools in this process: `tool`, `create_sdk_mcp_server` and ToolAnnotations."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from handrail.claude_agent_sdk.json_schema import check_arguments, schema_of
from handrail.client.mcp_results import ToolResult
from handrail.client.mcp_servers import McpServer
from handrail.client.mcp_tools import Tool

if TYPE_CHECKING:
    from handrail.claude_agent_sdk.loops import CallerLoop
    from handrail.claude_agent_sdk.mcp_configs import McpSdkServerConfig

__all__ = ["SdkMcpServer", "SdkMcpTool", "ToolAnnotations", "create_sdk_mcp_server", "tool"]

T = TypeVar("T")
Handler = Callable[[Any], Awaitable[dict[str, Any]]]

RESULT_SIZE = "anthropic/maxResultSizeChars"

log = logging.getLogger("handrail.claude_agent_sdk")


class ToolAnnotations:
    """Hints about a tool. Both spellings of a hint are accepted, `read_only_hint` and `readOnlyHint`.

    `maxResultSizeChars` is the size up to which the CLI shows a result whole. Other keywords are passed on.
    """

    def __init__(self, **data: Any) -> None:
        known = {name: data.pop(wire) for name, wire in _HINTS.items() if wire in data}
        for name in _HINTS:
            setattr(self, name, data.pop(name, known.get(name)))
        self.__dict__.update(data)

    def __repr__(self) -> str:
        return f"ToolAnnotations({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ToolAnnotations) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def model_dump(self, *, by_alias: bool = False, exclude_none: bool = False, **_: Any) -> dict[str, Any]:
        """The hints as a dictionary; `by_alias` for the spelling of the wire."""
        return {
            _HINTS.get(name, name) if by_alias else name: value
            for name, value in self.__dict__.items()
            if value is not None or not exclude_none
        }


_HINTS = {
    "title": "title",
    "read_only_hint": "readOnlyHint",
    "destructive_hint": "destructiveHint",
    "idempotent_hint": "idempotentHint",
    "open_world_hint": "openWorldHint",
    "maxResultSizeChars": "maxResultSizeChars",
}
"""The hints, and their names on the wire."""


@dataclass
class SdkMcpTool(Generic[T]):
    """A tool. `handler` takes the arguments as a dictionary and returns `{"content": [...], "is_error": ...}`.

    Other keys of the result are not sent; a tool of `handrail.tool` can return structured content too.
    """

    name: str
    description: str
    input_schema: type[T] | dict[str, Any]
    handler: Callable[[T], Awaitable[dict[str, Any]]]
    annotations: ToolAnnotations | None = None


def tool(
    name: str,
    description: str,
    input_schema: type | dict[str, Any],
    annotations: ToolAnnotations | None = None,
) -> Callable[[Callable[[Any], Awaitable[dict[str, Any]]]], SdkMcpTool[Any]]:
    """Make a tool from an async function that takes its arguments as one dictionary.

    `input_schema` is a dictionary from names to types, a TypedDict, or a JSON Schema. `Annotated[int, "text"]`
    describes an argument. The arguments of a call are checked; those that do not fit are answered with an error.
    """

    def make(handler: Handler) -> SdkMcpTool[Any]:
        return SdkMcpTool(name, description, input_schema, handler, annotations)

    return make


def create_sdk_mcp_server(
    name: str, version: str = "1.0.0", tools: list[SdkMcpTool[Any]] | None = None
) -> McpSdkServerConfig:
    """An MCP server in this process, for the `mcp_servers` of the options. Raises OptionsError or ValueError."""
    return {"type": "sdk", "name": name, "instance": SdkMcpServer(name, version, tools or [])}


class SdkMcpServer(McpServer):
    """A server of Handrail with the tools of the program."""

    def __init__(
        self, name: str, version: str, definitions: list[SdkMcpTool[Any]], caller: CallerLoop | None = None
    ) -> None:
        super().__init__(name, [_tool(made, caller) for made in definitions], version=version, instructions=None)
        self.definitions = definitions

    def for_caller(self, caller: CallerLoop) -> SdkMcpServer:
        """The same server, whose handlers run in the loop of the caller."""
        return SdkMcpServer(self.name, self.version, self.definitions, caller)


def _tool(made: SdkMcpTool[Any], caller: CallerLoop | None) -> Tool[..., Any]:
    schema = schema_of(made.input_schema)

    async def run(arguments: dict[str, Any]) -> ToolResult:
        if problem := check_arguments(arguments, schema):
            return ToolResult(content=[f"Input validation error: {problem}"], is_error=True)
        running = made.handler(arguments) if caller is None else caller.call(made.handler, arguments)
        try:
            return _result(made.name, await running)
        except Exception as error:  # the model reads the text alone
            log.debug("tool %s failed", made.name, exc_info=error)
            return ToolResult(content=[str(error) or type(error).__name__], is_error=True)

    annotations = _dumped(made.annotations)
    size = annotations.pop("maxResultSizeChars", None)
    return Tool(
        run,
        name=made.name,
        description=made.description,
        input_schema=schema,
        annotations=annotations,
        meta={} if size is None else {RESULT_SIZE: size},
    )


def _dumped(annotations: Any) -> dict[str, Any]:
    """The hints on the wire; `annotations` may also be of the `mcp` package."""
    return {} if annotations is None else annotations.model_dump(by_alias=True, exclude_none=True)


def _result(name: str, value: Any) -> ToolResult:
    if not isinstance(value, Mapping):
        raise TypeError(f"the tool {name} returned {type(value).__name__}; it must return a dictionary with `content`")
    given = cast("Mapping[str, Any]", value)
    blocks = [_block(name, block) for block in given.get("content") or ()]
    return ToolResult(
        content=[block for block in blocks if block is not None],
        is_error=bool(given.get("is_error") or given.get("isError")),
    )


def _block(name: str, block: Mapping[str, Any]) -> dict[str, Any] | None:
    """A block that the CLI can read; links and text resources become text."""
    kind = block.get("type")
    resource: Mapping[str, Any] = block.get("resource") or {}
    if kind == "resource_link":
        parts = [block.get(key) for key in ("name", "uri", "description")]
        return {"type": "text", "text": "\n".join(str(part) for part in parts if part)}
    if kind == "resource" and "text" in resource:
        return {"type": "text", "text": resource["text"]}
    if kind in ("text", "image", "audio", "resource"):
        return dict(block)
    log.warning("tool %s: a block of type %r was left out, because the CLI cannot read it", name, kind)
    return None
