"""MCP servers at an address, on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from handrail.agent.errors import McpError
from handrail.agent.mcp.http_channel import LONGEST_ANSWER
from handrail.agent.tools.base import ToolFailed
from handrail.agent.tools.desk import Desk
from tests.agent.mcp.servers import ADD, JsonObject
from tests.agent.mcp.test_hub import hub_with, tool_of

Answer = Callable[[str, dict[str, str], JsonObject], Awaitable[bytes]]


def http(status: str, body: bytes = b"", *headers: str, kind: str = "application/json") -> bytes:
    head = [
        f"HTTP/1.1 {status}",
        f"Content-Length: {len(body)}",
        f"Content-Type: {kind}",
        "Connection: close",
        *headers,
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


@asynccontextmanager
async def listening(answer: Answer) -> AsyncGenerator[str]:
    """Serve one answer per connection at the address that this yields."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.strip().split("\r\n")
            headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
            headers["path"] = first.split()[1]
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            writer.write(await answer(first.split()[0], headers, json.loads(body) if body else {}))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"


class Site:
    """An MCP server behind `listening`; `called` makes the HTTP answer to a tools/call."""

    def __init__(self, called: Callable[[JsonObject], bytes] | None = None) -> None:
        self.called = called
        self.headers: list[dict[str, str]] = []

    async def __call__(self, verb: str, headers: dict[str, str], message: JsonObject) -> bytes:
        self.headers.append(headers)
        if verb != "POST":
            return http("405 Method Not Allowed")
        method = message.get("method")
        if "id" not in message:
            return http("202 Accepted")
        if method == "tools/call" and self.called:
            return self.called(message)
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "site", "version": "2"},
            },
            "tools/list": {"tools": [ADD]},
            "tools/call": {"content": [{"type": "text", "text": "5"}]},
        }
        result = {"jsonrpc": "2.0", "id": message["id"], "result": results[str(method)]}
        if method == "tools/list":
            return http("200 OK", f"event: message\ndata: {json.dumps(result)}\n\n".encode(), kind="text/event-stream")
        return http("200 OK", json.dumps(result).encode())


async def test_server_is_called_with_its_configured_headers():
    site = Site()
    async with listening(site) as url:
        config = {"type": "http", "url": url, "headers": {"X-Key": "${KEY}"}}
        async with hub_with({"web": config}, KEY="secret-key") as hub:
            (status,) = hub.status()
            assert (status["status"], status["transport"]) == ("connected", "http")
            assert status["config"] == {"type": "http", "url": url}
            outcome = await tool_of(hub, "mcp__web__add").run({"a": 1}, Desk("/"))
            assert outcome.content == [{"type": "text", "text": "5"}]
            assert "secret-key" not in str(hub.status())
    assert site.headers[0]["x-key"] == "secret-key"


@pytest.mark.parametrize("kind", ["http", "sse"])
@pytest.mark.parametrize("metadata", ["https://login.example/$(id)", "file:///etc/passwd"])
async def test_server_that_requires_a_sign_in_is_reported_without_its_addresses(kind: str, metadata: str):
    async def answer(verb: str, headers: dict[str, str], message: JsonObject) -> bytes:
        return http("401 Unauthorized", b"", f'WWW-Authenticate: Bearer resource_metadata="{metadata}"')

    async with listening(answer) as url, hub_with({"web": {"type": kind, "url": url}}) as hub:
        (status,) = hub.status()
        assert (status["status"], status["signIn"]) == ("needs-auth", True)
        assert "mcp_authenticate" in status["error"]
        assert metadata not in str(status)


@pytest.mark.parametrize(
    "place", ["oauth-protected-resource/mcp", "oauth-protected-resource", "oauth-authorization-server"]
)
async def test_well_known_metadata_offers_a_sign_in(place: str):
    class Guarded(Site):
        async def __call__(self, verb: str, headers: dict[str, str], message: JsonObject) -> bytes:
            asked = headers["path"] == f"/.well-known/{place}"
            return http("200 OK", b"{}") if asked else http("401 Unauthorized", b"", "WWW-Authenticate: Bearer")

    async with listening(Guarded()) as url, hub_with({"web": {"type": "http", "url": url}}) as hub:
        assert hub.servers()[0]["status"] == "needs-auth"


@pytest.mark.parametrize(
    ("headers", "reason"), [({}, "offers no sign-in"), ({"Authorization": "Bearer x"}, "rejected the Authorization")]
)
async def test_server_without_oauth_that_answers_401_is_failed(headers: dict[str, str], reason: str):
    async def answer(verb: str, headers: dict[str, str], message: JsonObject) -> bytes:
        return http("401 Unauthorized", b"", "WWW-Authenticate: Bearer")

    async with listening(answer) as url, hub_with({"web": {"type": "http", "url": url, "headers": headers}}) as hub:
        (status,) = hub.status()
        assert (status["status"], reason in status["error"]) == ("failed", True)


async def test_later_requests_carry_the_negotiated_version():
    site = Site()
    async with listening(site) as url, hub_with({"web": {"type": "http", "url": url}}):
        first, *later = [headers.get("mcp-protocol-version") for headers in site.headers]
        assert first is None
        assert set(later) == {"2025-06-18"}


async def test_unreachable_servers_are_reported_as_failed():
    async def answer(verb: str, headers: dict[str, str], message: JsonObject) -> bytes:
        return http("500 Internal Server Error")

    async with listening(answer) as url:
        gone = "http://127.0.0.1:9/mcp"
        servers = {"bad": {"type": "http", "url": url}, "gone": {"type": "http", "url": gone}}
        servers |= {"old": {"type": "sse", "url": gone}}
        async with hub_with(servers, MCP_TIMEOUT="8000") as hub:
            assert [one["status"] for one in hub.servers()] == ["failed", "failed", "failed"]
            assert "500" in hub.status()[0]["error"]
            assert all(one["error"] for one in hub.status())


async def test_oversized_answer_fails_the_call():
    body = b'{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"' + b"x" * LONGEST_ANSWER + b'"}]}}'

    site = Site(lambda message: http("200 OK", body))
    async with listening(site) as url, hub_with({"web": {"type": "http", "url": url}}, MCP_TOOL_TIMEOUT="5000") as hub:
        with pytest.raises(ToolFailed):
            await tool_of(hub, "mcp__web__add").run({"a": 1}, Desk("/"))


async def test_connecting_to_a_silent_server_times_out():
    async def answer(verb: str, headers: dict[str, str], message: JsonObject) -> bytes:
        await asyncio.Event().wait()
        return b""

    async with listening(answer) as url, hub_with({"web": {"type": "http", "url": url}}, MCP_TIMEOUT="100") as hub:
        assert hub.servers()[0]["status"] == "failed"


async def test_server_without_oauth_cannot_be_signed_in_to():
    async def answer(verb: str, headers: dict[str, str], message: JsonObject) -> bytes:
        return http("401 Unauthorized", b"", "WWW-Authenticate: Bearer") if verb == "POST" else http("404 Not Found")

    async with listening(answer) as url, hub_with({"web": {"type": "http", "url": url}}) as hub:
        with pytest.raises(McpError, match=r"did not register a client \(HTTP 401\)"):
            await hub.sign_in("web")
        assert hub.servers()[0]["status"] == "failed"
