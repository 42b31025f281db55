"""Servers at an address, on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from handrail.agent.desk import Desk
from handrail.agent.errors import McpError
from handrail.agent.mcp.http_channel import LONGEST_ANSWER
from handrail.agent.tools.base import ToolFailed
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
    """A server for one answer per connection. Out: its address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.strip().split("\r\n")
            headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
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
    """An MCP server behind `listening`; `call` makes the result of a tools/call, as a whole HTTP answer."""

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


async def test_a_server_at_an_address_is_reached_with_its_headers_and_called():
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
@pytest.mark.parametrize(
    ("metadata", "address"),
    [
        ("https://login.example/.well-known/oauth", "https://login.example/.well-known/oauth"),
        ("file:///etc/passwd", None),
        ("https://login.example/$(id)", None),
    ],
)
async def test_a_server_that_wants_a_login_says_where_only_if_that_is_https(
    kind: str, metadata: str, address: str | None
):
    async def answer(verb: str, headers: dict[str, str], message: JsonObject) -> bytes:
        return http("401 Unauthorized", b"", f'WWW-Authenticate: Bearer resource_metadata="{metadata}"')

    async with listening(answer) as url, hub_with({"web": {"type": kind, "url": url}}) as hub:
        (status,) = hub.status()
        assert (status["status"], status.get("authUrl")) == ("needs-auth", address)
        assert metadata not in status["error"] or address


async def test_a_server_that_fails_or_is_not_there_is_one_server_less():
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


async def test_an_answer_without_end_is_broken_off():
    body = b'{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"' + b"x" * LONGEST_ANSWER + b'"}]}}'

    site = Site(lambda message: http("200 OK", body))
    async with listening(site) as url, hub_with({"web": {"type": "http", "url": url}}, MCP_TOOL_TIMEOUT="5000") as hub:
        with pytest.raises(ToolFailed):
            await tool_of(hub, "mcp__web__add").run({"a": 1}, Desk("/"))


async def test_an_address_that_never_answers_holds_nobody_beyond_the_limit():
    async def answer(verb: str, headers: dict[str, str], message: JsonObject) -> bytes:
        await asyncio.Event().wait()
        return b""

    async with listening(answer) as url, hub_with({"web": {"type": "http", "url": url}}, MCP_TIMEOUT="100") as hub:
        assert hub.servers()[0]["status"] == "failed"


async def test_signing_in_is_refused_with_a_way_out():
    async def answer(verb: str, headers: dict[str, str], message: JsonObject) -> bytes:
        return http("401 Unauthorized", b"", "WWW-Authenticate: Bearer")

    async with listening(answer) as url, hub_with({"web": {"type": "http", "url": url}}) as hub:
        (status,) = hub.status()
        assert (status["status"], status["signIn"]) == ("needs-auth", False)
        assert "headers" in status["error"]
        with pytest.raises(McpError, match="web: handrail-agent does not support OAuth sign-in: .*headers"):
            hub.sign_in("web")
