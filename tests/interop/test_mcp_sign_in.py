"""Our client signs the real CLI in to an MCP server, with the same requests as handrail-agent."""

from __future__ import annotations

import pytest

from handrail import ControlRefused
from handrail.testing import text
from tests.agent.mcp.oauth_site import OAuthSite
from tests.interop.scenario import Model, Talk


async def test_callback_url_finishes_the_sign_in(model: Model, talk: Talk):
    async with OAuthSite() as site:
        servers = {"vault": {"type": "http", "url": site.url}}
        async with talk(model(text("one"), text("two")), mcp_servers=servers) as session:
            await session.ask("before")
            (server,) = (await session.mcp_status()).servers
            assert (server.status, server.sign_in) == ("needs-auth", None)
            with pytest.raises(ControlRefused, match="No active OAuth flow"):
                await session.mcp_oauth_callback_url("vault", "http://localhost/callback?code=c&state=s")
            begun = await session.mcp_authenticate("vault")
            assert (begun.requires_user_action, begun.callback_expected) == (True, True)
            assert (begun.redirect_scheme, begun.state in begun.auth_url) == ("localhost", True)
            await session.mcp_oauth_callback_url("vault", await site.sign_in(begun.auth_url))
            await session.ask("after")
            assert site.grants() == ["authorization_code"]
            await session.mcp_clear_auth("vault")
