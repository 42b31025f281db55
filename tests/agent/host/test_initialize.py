"""Every field of `initialize` takes effect, or is named on stderr."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handrail.agent.controls.handshake import FIELDS
from handrail.agent.models.script import Script
from handrail.schema.handshake import InitializeRequest
from handrail.schema.view import field_names
from handrail.testing import text, tool_use
from tests.agent.stage import StagedHost, hooks_for, stage


def test_every_field_has_a_row() -> None:
    assert set(FIELDS) == field_names(InitializeRequest)


async def initialized(host: StagedHost, **fields: Any) -> dict[str, Any]:
    answer = await host.control("initialize", **fields)
    assert answer["subtype"] == "success", answer
    return answer["response"]


@pytest.mark.parametrize(
    "name",
    ["systemPromptSnapshot", "tomorrow"],
)
async def test_a_field_without_effect_is_named_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    async with stage(tmp_path, Script.of(text("hi"))) as host:
        await initialized(host, **{name: True})
        assert f"initialize: {name} " in capsys.readouterr().err
        await initialized(host, **{name: False})
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"sdkMcpServers": "calc"}, "sdkMcpServers"),
        ({"jsonSchema": "{}"}, "jsonSchema"),
        ({"agents": []}, "agents"),
        ({"title": 3}, "title"),
        ({"hooks": "none"}, "hooks"),
        ({"toolAliases": {"Bash": 3}}, "toolAliases"),
        ({"plugins": [{"type": "remote", "path": "x"}]}, "plugins"),
    ],
)
async def test_an_invalid_value_is_refused_by_name(tmp_path: Path, fields: dict[str, Any], named: str) -> None:
    async with stage(tmp_path, Script.of(text("hi"))) as host:
        answer = await host.control("initialize", **fields)
        assert answer["subtype"] == "error"
        assert named in answer["error"]
        assert (await host.turn("hello"))["result"] == "hi"


async def test_hooks_are_reported_as_applied(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("hi"))) as host:
        assert "hooks_applied" not in await initialized(host)
        assert (await initialized(host, hooks=hooks_for("Stop")))["hooks_applied"] is True


async def test_manifests_of_servers_are_answered_as_not_honoured(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("hi"))) as host:
        answer = await initialized(host, sdkMcpServerManifests={"calc": {"initializeResult": {}}})
        assert answer["sdk_mcp_manifests_parked"] == {"calc": "not_honoured"}


async def test_a_title_names_a_new_session(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("hi"))) as host:
        await initialized(host, title="Bread")
        await host.turn("hello")
        path = host.engine.transcript.path
    assert '"customTitle":"Bread"' in path.read_text()


async def test_an_alias_redirects_a_call_to_another_tool(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(tool_use("Peek", file_path="a.txt"), text("ok"))) as host:
        (tmp_path / "project" / "a.txt").write_text("inside")
        await initialized(host, toolAliases={"Peek": "Read"})
        await host.turn("go")
        assert "inside" in str(host.results_of_tools())


async def test_instructions_of_plan_mode_reach_the_model(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("hi")), "--permission-mode", "plan") as host:
        await initialized(host, planModeInstructions="Think of cheese.")
        await host.turn("plan")
        assert "Think of cheese." in str(host.model.asked[0]["messages"])


async def test_the_policy_of_a_host_server_becomes_rules(tmp_path: Path) -> None:
    policy = {"tools": [{"name": "add", "permission_policy": "always_deny"}, {"name": "sub"}, "?"]}
    async with stage(tmp_path, Script.of(text("hi"))) as host:
        await initialized(host, sdkMcpServers=["calc"], sdkMcpServerConfigs={"calc": policy, "other": policy})
        state = (await host.control("list_permission_rules"))["response"]["state"]
        assert [(rule["behavior"], rule["rule"]) for rule in state["rules"]] == [("deny", "mcp__calc__add")]


async def test_plugins_are_loaded_from_local_folders(tmp_path: Path) -> None:
    commands = tmp_path / "kitchen" / "commands"
    commands.mkdir(parents=True)
    (commands / "bake.md").write_text("Bake bread.")
    async with stage(tmp_path, Script.of(text("hi"))) as host:
        answer = await initialized(host, plugins=[{"type": "local", "path": str(tmp_path / "kitchen")}])
        assert answer["plugins_applied"] is True
        assert "kitchen:bake" in [command["name"] for command in answer["commands"]]
        missing = await initialized(host, plugins=[{"type": "local", "path": str(tmp_path / "nowhere")}])
        assert missing["plugins_applied"] is False
