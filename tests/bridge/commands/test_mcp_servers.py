"""MCP servers as clients see them."""

from __future__ import annotations

import pytest

from handrail.bridge.commands.mcp import safe_address, shown_servers
from handrail.schema.agent_answers import McpServerStatus, McpTool


def test_configuration_and_secrets_are_not_shown():
    config = {"headers": {"X-Api-Key": "sekret"}, "env": {"TOKEN": "sekret"}}
    server = McpServerStatus(
        name="shop",
        status="failed",
        error="HTTP 401 from https://shop.example/?api_key=sekret",
        config=config,
        transport="http",
        scope="project",
        source="file",
        tools=[McpTool(name="buy", description="Buys.", annotations={"x": 1})],
    )
    [shown] = shown_servers([server], {"shop": "https://shop.example/login"})
    assert "sekret" not in str(shown)
    assert shown["tools"] == [{"name": "buy", "description": "Buys."}]
    assert (shown["transport"], shown["scope"], shown["source"]) == ("http", "project", "file")
    assert "auth_url" not in shown  # no sign-in needed


def test_sign_in_url_is_shown_while_authentication_is_needed():
    [shown] = shown_servers([McpServerStatus(name="shop", status="needs-auth")], {"shop": "https://shop.example/login"})
    assert shown["auth_url"] == "https://shop.example/login"


@pytest.mark.parametrize("given", [None, 3, "", "javascript:alert(1)", "https://a b", "https://a\n", "https://ä"])
def test_unsafe_url_is_removed(given: object):
    assert safe_address(given) == ""


@pytest.mark.parametrize(
    ("status", "transport", "offered"),
    [
        ("needs-auth", "http", True),
        ("needs-auth", "sse", True),
        ("needs-auth", "", True),
        ("needs-auth", "stdio", False),
        ("connected", "http", False),
        ("failed", "http", False),
        ("disabled", "http", False),
    ],
)
def test_a_remote_server_that_needs_auth_offers_a_sign_in(status: str, transport: str, offered: bool):
    [shown] = shown_servers([McpServerStatus(name="shop", status=status, transport=transport)], {})
    assert shown["sign_in"] is offered
