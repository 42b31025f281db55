"""The exceptions that the agent raises on purpose.

AgentError
├── Refused      (CallerError) the agent cannot start or go on: one line for stderr, and an exit code
└── McpError     (PeerError) an MCP server refused, failed or is not connected
"""

from __future__ import annotations

from handrail.errors import CallerError, HandrailError, PeerError

__all__ = ["AgentError", "McpError", "Refused"]


class AgentError(HandrailError):
    """The root of the exceptions that the agent raises on purpose."""


class Refused(AgentError, CallerError):
    """The agent cannot start or go on. `message` is for stderr; `result`: hosts that read results get it too."""

    def __init__(self, message: str, *, code: int = 1, result: bool = False) -> None:
        super().__init__(message)
        self.message, self.code, self.result = message, code, result


class McpError(AgentError, PeerError):
    """An MCP server refused, failed or is not connected; the text says which."""
