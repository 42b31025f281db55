"""Configurations of MCP servers, and the answer to `get_mcp_status`."""

from typing import Any, Literal, NotRequired, TypedDict

__all__ = [
    "McpClaudeAIProxyServerConfig",
    "McpHttpServerConfig",
    "McpSSEServerConfig",
    "McpSdkServerConfig",
    "McpSdkServerConfigStatus",
    "McpServer",
    "McpServerConfig",
    "McpServerConnectionStatus",
    "McpServerInfo",
    "McpServerStatus",
    "McpServerStatusConfig",
    "McpStatusResponse",
    "McpStdioServerConfig",
    "McpToolAnnotations",
    "McpToolInfo",
]

McpServer = Any
"""A server in this process: of `create_sdk_mcp_server`, of `handrail.mcp_server` or of the `mcp` package."""


class McpStdioServerConfig(TypedDict):
    """A server that the CLI starts as a child process."""

    type: NotRequired[Literal["stdio"]]
    command: str
    args: NotRequired[list[str]]
    env: NotRequired[dict[str, str]]


class McpSSEServerConfig(TypedDict):
    """A server reached over server-sent events."""

    type: Literal["sse"]
    url: str
    headers: NotRequired[dict[str, str]]


class McpHttpServerConfig(TypedDict):
    """A server reached over streamable HTTP."""

    type: Literal["http"]
    url: str
    headers: NotRequired[dict[str, str]]


class McpSdkServerConfig(TypedDict):
    """A server in this process."""

    type: Literal["sdk"]
    name: str
    instance: McpServer


McpServerConfig = McpStdioServerConfig | McpSSEServerConfig | McpHttpServerConfig | McpSdkServerConfig


class McpSdkServerConfigStatus(TypedDict):
    """A server in this process, as a status reports it."""

    type: Literal["sdk"]
    name: str


class McpClaudeAIProxyServerConfig(TypedDict):
    """A server reached through claude.ai; only in a status."""

    type: Literal["claudeai-proxy"]
    url: str
    id: str


McpServerStatusConfig = (
    McpStdioServerConfig
    | McpSSEServerConfig
    | McpHttpServerConfig
    | McpSdkServerConfigStatus
    | McpClaudeAIProxyServerConfig
)

McpServerConnectionStatus = Literal["connected", "failed", "needs-auth", "pending", "disabled"]


class McpServerInfo(TypedDict):
    """The name and version that a server reports."""

    name: str
    version: str


class McpToolAnnotations(TypedDict, total=False):
    """Hints about a tool, as a status reports them."""

    readOnly: bool
    destructive: bool
    openWorld: bool


class McpToolInfo(TypedDict):
    name: str
    description: NotRequired[str]
    annotations: NotRequired[McpToolAnnotations]


class McpServerStatus(TypedDict):
    """The state of one server; `error` only after a failure, `tools` only when connected."""

    name: str
    status: McpServerConnectionStatus
    serverInfo: NotRequired[McpServerInfo]
    error: NotRequired[str]
    config: NotRequired[McpServerStatusConfig]
    scope: NotRequired[str]
    tools: NotRequired[list[McpToolInfo]]


class McpStatusResponse(TypedDict):
    mcpServers: list[McpServerStatus]
