"""The in-process MCP servers of one session.

Every message is answered, even notifications: otherwise the first turn of the CLI stalls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from handrail.client.errors import OptionsError
from handrail.client.mcp_servers import McpEndpoint, mcp_endpoint
from handrail.connection.router import Refusal
from handrail.protocol import Request
from handrail.schema.view import read_json

__all__ = ["McpHost"]

NOTED: dict[str, Any] = {"jsonrpc": "2.0", "result": {}}
"""The answer to a notification; the CLI ignores its content."""

SendTo = Callable[[str, dict[str, Any]], Awaitable[Any]]


class McpHost:
    """Routes messages between the CLI and the servers. `send` carries messages that a server initiates."""

    def __init__(self, servers: Mapping[str, Any], send: SendTo) -> None:
        self._send = send
        self._endpoints: dict[str, McpEndpoint] = {}
        for name, server in servers.items():
            try:
                self._endpoints[name] = mcp_endpoint(server, name=name)
            except OptionsError:
                raise
            except (TypeError, ValueError) as error:
                raise OptionsError("mcp_servers", f"{name}: {error}") from None

    @property
    def names(self) -> list[str]:
        """The names of the servers, for the handshake."""
        return list(self._endpoints)

    async def open(self) -> None:
        """Open all servers."""
        for name, endpoint in self._endpoints.items():
            await endpoint.open(self._sender(name))

    async def close(self) -> None:
        """Close all servers; running calls are cancelled."""
        await asyncio.gather(*(endpoint.close() for endpoint in self._endpoints.values()), return_exceptions=True)

    async def handle(self, request: Request) -> Mapping[str, Any]:
        """Answer an mcp_message request with the JSON-RPC answer of the server."""
        body = cast("dict[str, Any]", read_json(request.body))
        endpoint, message = self._endpoints.get(str(body.get("server_name"))), body.get("message")
        if endpoint is None:
            raise Refusal(f"no MCP server is named {body.get('server_name')!r} here")
        if not isinstance(message, dict):
            raise Refusal("mcp_message without a `message` object", "invalid_request")
        answer = await endpoint.receive(cast("dict[str, Any]", message))
        return {"mcp_response": NOTED if answer is None else answer}

    def _sender(self, name: str) -> Callable[[dict[str, Any]], Awaitable[None]]:
        async def send(message: dict[str, Any]) -> None:
            await self._send(name, message)

        return send
