"""MCP servers named on the command line. In: files or JSON. Out: entries by name, or Refused."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from handrail.agent.errors import Refused

__all__ = ["read_configs"]

JsonObject = dict[str, Any]
LIMIT = 2 * 1024 * 1024


def read_configs(given: Sequence[str], cwd: str) -> dict[str, Any]:
    """The servers of every `--mcp-config`; of two with one name the later counts."""
    servers: dict[str, Any] = {}
    for text in given:
        servers |= _read(text, cwd)
    return servers


def _read(text: str, cwd: str) -> dict[str, Any]:
    try:
        value: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        value = _read_file(os.path.join(cwd, text))
    found = cast("JsonObject", value).get("mcpServers") if isinstance(value, dict) else None
    if not isinstance(found, dict):
        raise Refused("Error: Invalid MCP configuration:\nmcpServers: it must be an object of servers by name")
    return cast("dict[str, Any]", found)


def _read_file(path: str) -> Any:
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(LIMIT))
    except FileNotFoundError:
        raise Refused(f"Error: Invalid MCP configuration:\nMCP config file not found: {path}") from None
    except (OSError, msgspec.DecodeError) as error:
        raise Refused(f"Error: Invalid MCP configuration:\n{path}: {error}") from None
