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
    ("status", "reported", "offered"),
    [
        ("needs-auth", None, True),
        ("needs-auth", True, True),
        ("needs-auth", False, False),
        ("connected", None, False),
        ("failed", True, False),
    ],
)
def test_a_sign_in_is_offered_where_the_cli_has_one(status: str, reported: bool | None, offered: bool):
    [shown] = shown_servers([McpServerStatus(name="shop", status=status, sign_in=reported)], {})
    assert shown["sign_in"] is offered
