"""Sign-in to MCP servers: our client drives our agent, and a browser signs in at a real authorization server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from handrail import ControlRefused, Session
from handrail.schema.agent_answers import McpServerStatus
from handrail.testing import Lab, text, tool_use
from tests.agent.mcp.oauth_site import OAuthSite
from tests.contract.conftest import Talk


@pytest.fixture
async def site() -> AsyncGenerator[OAuthSite]:
    async with asyncio.timeout(60), OAuthSite() as site:
        yield site


def servers(site: OAuthSite) -> dict[str, Any]:
    return {"vault": {"type": "http", "url": site.url}}


async def connected(session: Session) -> McpServerStatus:
    """The status of the only server, once it has connected or failed."""
    while True:
        (server,) = (await session.mcp_status()).servers
        if server.status != "pending":
            return server
        await session.mcp_list_resources()  # waits for servers that are connecting


def everything_in(folder: Path) -> str:
    return "\n".join(path.read_text(errors="replace") for path in folder.rglob("*.jsonl"))


async def test_sign_in_adds_the_tools_to_the_running_session(talk: Talk, site: OAuthSite, lab: Lab):
    call = tool_use("mcp__vault__echo")
    async with talk(
        text("nothing to use"), call, text("done"), mcp_servers=servers(site), can_use_tool=lambda _: True
    ) as session:
        reader = session.messages()
        server = await connected(session)
        assert (server.status, server.sign_in, server.tools) == ("needs-auth", True, [])
        await session.ask("before")
        assert session.info is not None
        assert "mcp__vault__echo" not in session.info.tools

        begun = await session.mcp_authenticate("vault")
        assert begun.requires_user_action
        assert (begun.callback_expected, begun.redirect_scheme) == (True, "localhost")
        assert f"localhost%3A{begun.callback_port}%2F" in begun.auth_url
        assert begun.state in begun.auth_url
        redirect = await site.sign_in(begun.auth_url)
        async with httpx2.AsyncClient() as browser:
            assert "Signed in to vault" in (await browser.get(redirect)).text
        assert (await connected(session)).status == "connected"
        await session.ask("after")
        assert "mcp__vault__echo" in session.info.tools
    lines = [message.raw.decode() async for message in reader]
    assert any("from the vault" in line for line in lines)
    written = "\n".join(lines) + everything_in(lab.root)
    for secret in (*site.tokens, *site.refresh_tokens, parse_qs(urlsplit(redirect).query)["code"][0]):
        assert secret not in written


async def test_callback_url_finishes_the_sign_in(talk: Talk, site: OAuthSite):
    async with talk(text("hi"), mcp_servers=servers(site)) as session:
        await connected(session)
        with pytest.raises(ControlRefused, match="No active OAuth flow for server: vault"):
            await session.mcp_oauth_callback_url("vault", "http://localhost/callback?code=c&state=s")
        redirect = await site.sign_in((await session.mcp_authenticate("vault")).auth_url)
        with pytest.raises(ControlRefused, match="belongs to another sign-in"):
            await session.mcp_oauth_callback_url("vault", redirect.replace("state=", "state=x"))
        await session.mcp_oauth_callback_url("vault", redirect)
        (server,) = (await session.mcp_status()).servers
        assert (server.status, [tool.name for tool in server.tools]) == ("connected", ["echo"])


async def test_later_sessions_are_signed_in_until_the_tokens_are_deleted(talk: Talk, site: OAuthSite):
    async with talk(text("hi"), mcp_servers=servers(site)) as session:
        await connected(session)
        await session.mcp_oauth_callback_url(
            "vault", await site.sign_in((await session.mcp_authenticate("vault")).auth_url)
        )
    site.revoke()  # the next session has to refresh its token
    async with talk(text("hi"), mcp_servers=servers(site)) as session:
        assert (await connected(session)).status == "connected"
        await session.mcp_clear_auth("vault")
        assert (await connected(session)).status == "needs-auth"
    async with talk(text("hi"), mcp_servers=servers(site)) as session:
        assert (await connected(session)).status == "needs-auth"


async def test_redirect_address_of_the_host_is_not_listened_for(talk: Talk, site: OAuthSite):
    async with talk(text("hi"), mcp_servers=servers(site)) as session:
        await connected(session)
        begun = await session.mcp_authenticate("vault", redirect_uri="https://host.example/back")
        assert (begun.callback_expected, begun.redirect_scheme, begun.callback_port) == (True, "custom", None)
        await session.mcp_oauth_callback_url("vault", await site.sign_in(begun.auth_url))
        assert (await connected(session)).status == "connected"


async def test_servers_that_cannot_be_signed_in_to_are_refused(talk: Talk, site: OAuthSite):
    keyed = {"type": "http", "url": site.url, "headers": {"Authorization": "Bearer wrong"}}
    async with talk(text("hi"), mcp_servers={"keyed": keyed}) as session:
        assert (await connected(session)).sign_in is False
        for name, reason in (("keyed", "Authorization header"), ("nosuch", "Server not found")):
            with pytest.raises(ControlRefused, match=reason):
                await session.mcp_authenticate(name)
        with pytest.raises(ControlRefused, match="Server not found"):
            await session.mcp_clear_auth("nosuch")
