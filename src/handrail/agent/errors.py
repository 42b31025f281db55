"""What the agent raises on purpose.

AgentError
├── Refused      the way it was started, or a line it was sent: one line for stderr, and an exit code
└── McpError     an MCP server refused, failed or is not there
"""

from __future__ import annotations

__all__ = ["AgentError", "McpError", "Refused"]


class AgentError(Exception):
    """The root of what the agent raises on purpose."""


class Refused(AgentError):
    """It cannot go on; the text is for whoever started it. `result` tells a host that reads results too."""

    def __init__(self, message: str, *, code: int = 1, result: bool = False) -> None:
        super().__init__(message)
        self.message, self.code, self.result = message, code, result


class McpError(AgentError):
    """An MCP server refused, failed or is not there; the text says which."""
