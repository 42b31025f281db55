"""Commands about MCP servers: status and sign-in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.mcp.oauth_site import OAuthSite
from tests.bridge.stage import Json, Refused, Stage, stage
from tests.client.scripted_cli import write_cli

pytestmark = pytest.mark.usefixtures("anywhere")

SIGNS_IN = """
    given = {}
    while True:
        heard = hear()
        asked = heard["request"]
        if asked["subtype"] == "mcp_status":
            answer(heard, {"mcpServers": [{"name": "shop", "status": "needs-auth", "config": {"k": "sekret"},
                "transport": "http", "scope": "dynamic", "source": "dynamic"}]})
        elif asked["subtype"] == "mcp_authenticate":
            where = {"shop": "https://shop.example/authorize?state=s", "trap": "javascript:alert(1)"}
            answer(heard, {"authUrl": where[asked["serverName"]], "callbackExpected": True})
        elif "code=" in asked["callbackUrl"]:
            answer(heard, {})
        else:
            refuse(heard, "it carries no authorization code")
"""


async def test_sign_in_url_is_shown_until_sign_in_finishes(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, SIGNS_IN)) as on:
        session = await on.start()
        [before] = (await on.do("mcp_status", session=session))["servers"]
        assert before == {
            "name": "shop",
            "status": "needs-auth",
            "error": "",
            "tools": [],
            "transport": "http",
            "scope": "dynamic",
            "source": "dynamic",
            "sign_in": True,
        }
        begun = await on.do("mcp_sign_in", session=session, server="shop")
        assert begun == {"auth_url": "https://shop.example/authorize?state=s", "finish": True}
        [waiting] = (await on.do("mcp_status", session=session))["servers"]
        assert waiting["auth_url"] == begun["auth_url"]
        with pytest.raises(Refused, match="no authorization code"):
            await on.do("mcp_sign_in_finish", session=session, server="shop", url="http://localhost:1/callback")
        await on.do("mcp_sign_in_finish", session=session, server="shop", url="http://localhost:1/callback?code=c")
        [after] = (await on.do("mcp_status", session=session))["servers"]
        assert after == before


async def test_unsafe_sign_in_url_is_refused(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, SIGNS_IN)) as on:
        session = await on.start()
        with pytest.raises(Refused, match="unsafe sign-in URL"):
            await on.do("mcp_sign_in", session=session, server="trap")
        with pytest.raises(Refused) as refused:
            await on.do("mcp_sign_in_finish", session=session, server="shop", url="javascript:alert(1)")
        assert refused.value.code == "bad_fields"


async def test_no_servers_are_listed_without_a_process(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, SIGNS_IN)) as on:
        session = await on.start()
        await on.do("mcp_sign_in", session=session, server="shop")
        await on.do("stop", session=session)
        assert await on.do("mcp_status", session=session) == {"servers": [], "running": False}
        await on.do("resume", session=session)
        [restarted] = (await on.do("mcp_status", session=session))["servers"]
        assert "auth_url" not in restarted  # the process that started the sign-in was stopped


async def test_prompt_scope_does_not_allow_sign_in(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, SIGNS_IN)) as on:
        session = await on.start()
        for name, fields in (("mcp_sign_in", {}), ("mcp_sign_in_finish", {"url": "http://localhost/?code=c"})):
            with pytest.raises(Refused) as refused:
                await on.do(name, session=session, server="shop", scopes=frozenset({"view", "prompt"}), **fields)
            assert refused.value.code == "forbidden"


async def test_embedded_agent_signs_in_to_a_server(tmp_path: Path):
    async with OAuthSite() as site, stage(tmp_path) as on:
        session = await on.start()
        await on.do("mcp_set", session=session, servers={"vault": {"type": "http", "url": site.url}})
        server = await settled(on, session)
        assert (server["status"], server["sign_in"], server["tools"]) == ("needs-auth", True, [])
        begun = await on.do("mcp_sign_in", session=session, server="vault")
        assert begun["finish"]
        assert (await settled(on, session))["auth_url"] == begun["auth_url"]
        redirect = await site.sign_in(begun["auth_url"])
        with pytest.raises(Refused, match="another sign-in"):
            await on.do("mcp_sign_in_finish", session=session, server="vault", url=redirect + "x")
        await on.do("mcp_sign_in_finish", session=session, server="vault", url=redirect)
        server = await settled(on, session)
        assert (server["status"], server["sign_in"], "auth_url" in server) == ("connected", False, False)
        assert [tool["name"] for tool in server["tools"]] == ["echo"]
        stored = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
        for secret in (*site.tokens, *site.refresh_tokens, redirect.partition("code=")[2].partition("&")[0]):
            assert secret.encode() not in stored


async def settled(on: Stage, session: str) -> Json:
    """The status of the only server, once it has connected or failed."""
    while True:
        [server] = (await on.do("mcp_status", session=session))["servers"]
        if server["status"] != "pending":
            return server
        await (await on.host(session)).session.mcp_list_resources()  # waits for servers that are connecting
