"""Sign-in to MCP servers, with a real authorization server on loopback."""

from __future__ import annotations

import asyncio
import socket
import stat
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest

from handrail.agent.errors import McpError
from handrail.agent.mcp.config import ConfigError, read_config
from handrail.agent.mcp.credentials import Credentials, CredentialStore
from handrail.agent.mcp.hub import McpHub
from handrail.agent.mcp.oauth import check_endpoint
from handrail.agent.tools.base import ToolFailed
from handrail.agent.tools.desk import Desk
from tests.agent.mcp.oauth_site import OAuthSite
from tests.agent.mcp.servers import child
from tests.agent.mcp.test_hub import hub_with, tool_of


@pytest.fixture
async def site() -> AsyncGenerator[OAuthSite]:
    async with asyncio.timeout(60), OAuthSite() as site:
        yield site


def vault(site: OAuthSite, **more: Any) -> dict[str, Any]:
    return {"vault": {"type": "http", "url": site.url, **more}}


async def visit(address: str) -> httpx2.Response:
    """Follow a redirect to the listener, as a browser does."""
    async with httpx2.AsyncClient() as browser:
        return await browser.get(address)


async def sign_in(hub: McpHub, site: OAuthSite) -> None:
    begun = await hub.sign_in("vault")
    page = await visit(await site.sign_in(begun.address))
    assert "Signed in to vault" in page.text


def files(home: Path) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file()]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


# Signing in


async def test_browser_redirect_to_the_listener_connects_the_server(site: OAuthSite, tmp_path: Path):
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        (status,) = hub.status()
        assert (status["status"], status["signIn"]) == ("needs-auth", True)
        begun = await hub.sign_in("vault")
        assert begun.port
        redirect = await site.sign_in(begun.address)
        assert redirect.startswith("http://localhost:")
        page = await visit(redirect)
        assert (page.status_code, "Signed in to vault" in page.text) == (200, True)
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert hub.servers()[0]["status"] == "connected"
        outcome = await tool_of(hub, "mcp__vault__echo").run({}, Desk("/"))
        assert outcome.content == [{"type": "text", "text": "from the vault"}]
        with pytest.raises(httpx2.ConnectError):
            await visit(redirect)  # the listener is closed


async def test_callback_url_from_the_host_connects_the_server(site: OAuthSite, tmp_path: Path):
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        begun = await hub.sign_in("vault")
        await hub.finish_sign_in("vault", await site.sign_in(begun.address))
        assert hub.servers()[0]["status"] == "connected"
        with pytest.raises(McpError, match="No active OAuth flow"):
            await hub.finish_sign_in("vault", "http://localhost/?code=c&state=s")


async def test_redirect_address_of_the_host_is_used(site: OAuthSite, tmp_path: Path):
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        begun = await hub.sign_in("vault", redirect_uri="https://bridge.example/back")
        assert begun.port == 0
        redirect = await site.sign_in(begun.address)
        assert redirect.startswith("https://bridge.example/back?")
        await hub.finish_sign_in("vault", redirect)
        assert hub.servers()[0]["status"] == "connected"


async def test_refused_redirect_address_falls_back_to_the_listener(site: OAuthSite, tmp_path: Path):
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        site.errors["/login/clients"] = 400, {"error": "invalid_redirect_uri"}
        with pytest.raises(McpError, match=r"HTTP 400, invalid_redirect_uri"):
            await hub.sign_in("vault", redirect_uri="https://bridge.example/back", only=True)
        assert site.paths().count("/login/clients") == 1
        with pytest.raises(McpError, match="invalid_redirect_uri"):
            await hub.sign_in("vault", redirect_uri="https://bridge.example/back")
        assert site.seen[-1][1]["redirect_uris"][0].startswith("http://localhost:")
        with pytest.raises(McpError, match="redirectUri is not an absolute address"):
            await hub.sign_in("vault", redirect_uri="/back")


async def test_client_registered_by_hand_is_used(site: OAuthSite, tmp_path: Path):
    port = free_port()
    site.registers = False
    site.clients["by-hand"] = {"redirect_uris": [f"http://localhost:{port}/callback"]}
    oauth = {"clientId": "by-hand", "callbackPort": port}
    async with hub_with(vault(site, oauth=oauth), config_home=tmp_path) as hub:
        await sign_in(hub, site)
        assert hub.servers()[0]["status"] == "connected"
    assert "/login/clients" not in site.paths()


@pytest.mark.parametrize("given", ["read write", ["read", "write"], "  read   write "])
async def test_configured_scopes_are_asked_for(site: OAuthSite, tmp_path: Path, given: Any):
    site.scope = "read write"
    async with hub_with(vault(site, oauth={"scopes": given}), config_home=tmp_path) as hub:
        await sign_in(hub, site)
    assert [fields["scope"] for path, fields in site.seen if path == "/login/clients"] == ["read write"]


async def test_without_configured_scopes_those_of_the_server_are_asked_for(site: OAuthSite, tmp_path: Path):
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        await sign_in(hub, site)
    assert [fields["scope"] for path, fields in site.seen if path == "/login/clients"] == ["vault"]


async def test_server_that_requires_nothing_needs_no_sign_in(site: OAuthSite, tmp_path: Path):
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        site.tokens[""] = float("inf")  # requests without a token are accepted from now on
        assert (await hub.sign_in("vault")).address == ""
        assert hub.servers()[0]["status"] == "connected"


async def test_second_sign_in_replaces_the_first(site: OAuthSite, tmp_path: Path):
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        first = await site.sign_in((await hub.sign_in("vault")).address)
        second = await site.sign_in((await hub.sign_in("vault")).address)
        with pytest.raises(httpx2.ConnectError):
            await visit(first)
        with pytest.raises(McpError, match="another sign-in"):
            await hub.finish_sign_in("vault", first)
        await hub.finish_sign_in("vault", second)
        assert hub.servers()[0]["status"] == "connected"


async def test_closing_the_hub_closes_the_listener(site: OAuthSite, tmp_path: Path):
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        redirect = await site.sign_in((await hub.sign_in("vault")).address)
    with pytest.raises(httpx2.ConnectError):
        await visit(redirect)


async def test_disabling_a_server_cancels_its_sign_in(site: OAuthSite, tmp_path: Path):
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        redirect = await site.sign_in((await hub.sign_in("vault")).address)
        await hub.toggle("vault", enabled=False)
        with pytest.raises(McpError, match="No active OAuth flow"):
            await hub.finish_sign_in("vault", redirect)
        assert hub.servers()[0]["status"] == "disabled"


# Failures


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"code": "", "state": None}, "neither a code nor an error"),
        ({"state": "guess"}, "belongs to another sign-in"),
        ({"state": ""}, "belongs to another sign-in"),
        ({"state": "é"}, "belongs to another sign-in"),
        ({"error": "access_denied", "code": "", "state": "guess"}, "belongs to another sign-in"),
    ],
)
async def test_foreign_callback_url_is_refused_and_the_sign_in_stays_pending(
    site: OAuthSite, tmp_path: Path, change: dict[str, str | None], reason: str
):
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        redirect = await site.sign_in((await hub.sign_in("vault")).address)
        base, _, query = redirect.partition("?")
        fields = {name: values[0] for name, values in parse_qs(query).items()}
        bad = f"{base}?{urlencode({k: v for k, v in (fields | change).items() if v})}"
        with pytest.raises(McpError, match=reason):
            await hub.finish_sign_in("vault", bad)
        page = await visit(bad)
        assert (page.status_code, "Not signed in" in page.text) == (400, True)
        await hub.finish_sign_in("vault", redirect)
        assert hub.servers()[0]["status"] == "connected"


async def test_denied_sign_in_is_reported(site: OAuthSite, tmp_path: Path):
    site.denies = True
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        redirect = await site.sign_in((await hub.sign_in("vault")).address)
        assert "access_denied" in (await visit(redirect)).text
        (status,) = hub.status()
        assert status["status"] == "needs-auth"
        assert status["error"] == (
            "the sign-in failed: the authorization server of vault refused the sign-in: access_denied"
        )
        assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("path", "error", "reason"),
    [
        ("/login/clients", (403, {"error": "no"}), r"did not register a client \(HTTP 403, no\); .* oauth.clientId"),
        ("/login/clients", (201, {"client_id": 5}), "did not register a client"),
        ("/.well-known/oauth-protected-resource/mcp", (500, {}), "metadata request failed: HTTP 500"),
    ],
)
async def test_refused_step_is_named(site: OAuthSite, tmp_path: Path, path: str, error: Any, reason: str):
    site.errors[path] = error
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        with pytest.raises(McpError, match=reason):
            await hub.sign_in("vault")
        assert hub.servers()[0]["status"] == "needs-auth"


@pytest.mark.parametrize("answer", [(400, {"error": "invalid_grant"}), (200, {"token_type": "Bearer"})])
async def test_refused_code_is_reported_without_the_code(
    site: OAuthSite, tmp_path: Path, answer: Any, caplog: pytest.LogCaptureFixture
):
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        redirect = await site.sign_in((await hub.sign_in("vault")).address)
        code = parse_qs(urlsplit(redirect).query)["code"][0]
        site.errors["/login/tokens"] = answer[0], {**answer[1], "error_description": f"bad code {code}"}
        with pytest.raises(McpError, match="did not issue a token") as refused:
            await hub.finish_sign_in("vault", redirect)
        assert code not in f"{refused.value}{hub.status()}{caplog.text}"
        assert files(tmp_path) == []


async def test_silent_authorization_server_times_out(site: OAuthSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("handrail.agent.mcp.oauth.REQUEST_LIMIT", 0.2)
    site.silent.add("/login/tokens")
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        redirect = await site.sign_in((await hub.sign_in("vault")).address)
        with pytest.raises(McpError, match="cannot be reached: ReadTimeout"):
            await hub.finish_sign_in("vault", redirect)


async def test_only_addresses_can_be_signed_in_to(site: OAuthSite, tmp_path: Path):
    servers = {
        "local": child(tmp_path),
        "keyed": {"type": "http", "url": site.url, "headers": {"authorization": "Bearer wrong"}},
        "odd": {"type": "http", "url": site.url, "oauth": {"authServerMetadataUrl": "https://login.example/"}},
    }
    async with hub_with(servers, config_home=tmp_path / "home") as hub:
        assert [one["signIn"] for one in hub.status()] == [False, False, True]
        assert "rejected the Authorization header" in hub.status()[1]["error"]
        for name, reason in (
            ("local", 'Server type "stdio" does not support OAuth'),
            ("keyed", "Authorization header"),
            ("odd", "oauth.authServerMetadataUrl of odd is not supported"),
            ("nosuch", "Server not found: nosuch"),
        ):
            with pytest.raises(McpError, match=reason):
                await hub.sign_in(name)


@pytest.mark.parametrize(
    "oauth", ["x", {"callbackPort": 70000}, {"callbackPort": True}, {"clientId": 5}, {"scopes": 5}, {"scopes": 'a"b'}]
)
def test_invalid_oauth_options_are_refused(oauth: Any):
    with pytest.raises(ConfigError, match="oauth"):
        read_config({"type": "http", "url": "https://a.example/", "oauth": oauth}, {})


@pytest.mark.parametrize(
    ("address", "server", "problem"),
    [
        ("https://8.8.8.8/token", "https://1.1.1.1/mcp", ""),
        ("https://1.1.1.1:8443/token", "https://1.1.1.1/mcp", ""),
        ("http://1.1.1.1/token", "http://1.1.1.1/mcp", ""),
        ("http://127.0.0.1:2/token", "http://127.0.0.1:1/mcp", ""),
        ("http://8.8.8.8/token", "https://1.1.1.1/mcp", "does not use https"),
        ("http://127.0.0.1/token", "https://127.0.0.1/mcp", "does not use https"),
        ("http://8.8.8.8/token", "http://127.0.0.1/mcp", "does not use https"),
        ("https://127.0.0.1/token", "https://1.1.1.1/mcp", "private address"),
        ("https://169.254.169.254/latest", "https://1.1.1.1/mcp", "private address"),
        ("https://[::ffff:10.0.0.1]/token", "https://1.1.1.1/mcp", "private address"),
        ("https://user:pass@127.0.0.1/token", "https://1.1.1.1/mcp", "invalid address"),
        ("file:///etc/passwd", "https://1.1.1.1/mcp", "invalid address"),
    ],
)
async def test_server_cannot_name_private_or_unencrypted_endpoints(address: str, server: str, problem: str):
    if not problem:
        return await check_endpoint(address, server)
    with pytest.raises(McpError, match=problem):
        await check_endpoint(address, server)


async def test_sign_in_page_without_https_is_not_offered(site: OAuthSite, tmp_path: Path):
    site.metadata["authorization_endpoint"] = "http://8.8.8.8/page"
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        with pytest.raises(McpError, match="8.8.8.8 for its sign-in, which does not use https"):
            await hub.sign_in("vault")


# Tokens


async def test_tokens_are_private_and_used_by_the_next_session(site: OAuthSite, tmp_path: Path):
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        await sign_in(hub, site)
        token = next(iter(site.tokens))
        assert token not in str(hub.status())
    (file,) = files(tmp_path)
    assert token in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        assert hub.servers()[0]["status"] == "connected"
    other = {"other": vault(site)["vault"]}  # another name may be another server's
    async with hub_with(other, config_home=tmp_path) as hub:
        assert hub.servers()[0]["status"] == "needs-auth"


async def test_credentials_are_not_shown():
    held = Credentials(access_token="secret-a", client_id="c", client_secret="secret-b", refresh_token="secret-c")
    assert "secret" not in f"{held!r} {held}"


async def test_file_that_others_can_write_is_ignored(site: OAuthSite, tmp_path: Path):
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        await sign_in(hub, site)
    (file,) = files(tmp_path)
    file.chmod(0o666)
    assert CredentialStore(str(tmp_path), "vault", site.url).load() is None


async def test_expired_token_is_refreshed_before_it_is_used(site: OAuthSite, tmp_path: Path):
    site.lifetime = 1  # less than the margin before which a token is refreshed
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        await sign_in(hub, site)
        site.lifetime = 3600
        await tool_of(hub, "mcp__vault__echo").run({}, Desk("/"))
        assert "refresh_token" in site.grants()
        count = len(site.grants())
        await tool_of(hub, "mcp__vault__echo").run({}, Desk("/"))
        assert len(site.grants()) == count


async def test_revoked_token_is_refreshed_during_a_call(site: OAuthSite, tmp_path: Path):
    site.lifetime = None
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        await sign_in(hub, site)
        site.revoke()
        calls = (tool_of(hub, "mcp__vault__echo").run({}, Desk("/")) for _ in range(3))
        for outcome in await asyncio.gather(*calls):
            assert outcome.content == [{"type": "text", "text": "from the vault"}]
        assert site.grants().count("refresh_token") == 1  # one refresh serves all three
        assert hub.servers()[0]["status"] == "connected"


async def test_refused_refresh_requires_a_new_sign_in(site: OAuthSite, tmp_path: Path):
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        await sign_in(hub, site)
        echo = tool_of(hub, "mcp__vault__echo")
        site.revoke(refresh=True)
        with pytest.raises(ToolFailed, match="requires a sign-in"):
            await echo.run({}, Desk("/"))
        assert hub.servers()[0]["status"] == "needs-auth"
        assert hub.tools() == []
        assert files(tmp_path) == []
        await sign_in(hub, site)
        assert hub.servers()[0]["status"] == "connected"


async def test_failed_refresh_keeps_the_tokens(site: OAuthSite, tmp_path: Path):
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        await sign_in(hub, site)
        site.revoke()
        site.errors["/login/tokens"] = 503, {}
        with pytest.raises(ToolFailed):
            await tool_of(hub, "mcp__vault__echo").run({}, Desk("/"))
        assert len(files(tmp_path)) == 1
        site.errors.clear()
        await hub.reconnect("vault")
        assert hub.servers()[0]["status"] == "connected"


async def test_signing_out_deletes_the_tokens(site: OAuthSite, tmp_path: Path):
    async with hub_with(vault(site), config_home=tmp_path) as hub:
        await sign_in(hub, site)
        await hub.sign_out("vault")
        assert hub.servers()[0]["status"] == "needs-auth"
        assert files(tmp_path) == []
