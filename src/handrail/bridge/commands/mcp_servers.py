"""MCP servers as clients are shown them. In: what the CLI tells. Out: the same without its secrets. Pure.

How a server is configured stays with the CLI: headers, variables and addresses hold keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from handrail.schema.agent_answers import McpServerStatus
from handrail.transport.masking import mask_text

__all__ = ["safe_address", "shown_servers"]

JsonObject = dict[str, Any]
LONGEST: Final = 8192
MOST_TOOLS: Final = 500
WORDS: Final = 2000


def shown_servers(servers: Iterable[McpServerStatus], sign_ins: Mapping[str, str]) -> list[JsonObject]:
    """Each server. `sign_ins`: addresses to open, of sign-ins that were begun, by the name of the server."""
    return [_shown(one, sign_ins.get(one.name, "")) for one in servers]


def _shown(one: McpServerStatus, address: str) -> JsonObject:
    tools = [{"name": tool.name, "description": tool.description[:WORDS]} for tool in one.tools[:MOST_TOOLS]]
    shown = {"name": one.name, "status": one.status, "error": mask_text(one.error[:WORDS]), "tools": tools}
    shown |= {"transport": one.transport, "scope": one.scope, "source": one.source}
    return shown | ({"auth_url": address} if address and one.status == "needs-auth" else {})


def safe_address(given: Any) -> str:
    """An address that a person may be sent to; "" for anything else."""
    if not isinstance(given, str) or len(given) > LONGEST or not given.isascii() or not given.isprintable():
        return ""
    return given if given.startswith(("https://", "http://")) and " " not in given else ""
