"""handrail.agent.extensions.plugins, agents from folders, output styles."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.extensions.plugins import load_plugins
from handrail.agent.models.script import Script, text
from tests.agent.slash_commands.folders import project_file, put, user_file
from tests.agent.stage import stage

ONE = Script.of(text("Done."), text("Done."))


def plugin(folder: Path, name: str = "tools", **manifest: Any) -> Path:
    """A plugin with something of each kind."""
    path = folder / f"plugin-{name}"
    put(path / ".claude-plugin" / "plugin.json", json.dumps({"name": name, "version": "1.2", **manifest}))
    put(path / "commands" / "hello.md", "Say hello to $0")
    put(path / "skills" / "knots" / "SKILL.md", "---\ndescription: Tie knots\n---\nA bowline")
    put(path / "agents" / "helper.md", "---\ndescription: Helps\ntools: Read, Grep\n---\nHelp.")
    put(path / "output-styles" / "verse.md", "Answer in verse.")
    return path


def left_out(path: Path) -> str:
    plugins, problems = load_plugins([str(path)], "/")
    assert plugins == []
    return problems[0]


async def test_everything_of_a_plugin_has_its_name_before_it(tmp_path: Path) -> None:
    path = plugin(tmp_path)
    async with stage(tmp_path, ONE, "--plugin-dir", str(path)) as host:
        await host.turn("/tools:hello Ann")
        init = host.of("system", "init")[0]
        assert init["plugins"] == [
            {"name": "tools", "path": str(path), "source": "tools@inline", "version": "1.2"},
        ]
        assert {"tools:hello", "tools:knots"} <= set(init["slash_commands"])
        assert init["skills"] == ["tools:knots"]
        assert "tools:helper" in init["agents"]
        assert host.engine.agents.kinds["tools:helper"].tools == ["Read", "Grep"]
        assert host.model.asked[0]["messages"][0]["content"][1]["text"] == "Say hello to Ann"
        assert "tools:verse" in (await host.control("reload_output_styles"))["response"]["available_output_styles"]


async def test_hooks_of_a_plugin_run_and_know_its_folder(tmp_path: Path) -> None:
    path = plugin(tmp_path, "guards")
    hook = {"type": "command", "command": 'echo "$CLAUDE_PLUGIN_ROOT" > "${CLAUDE_PLUGIN_ROOT}/ran"'}
    put(path / "hooks" / "hooks.json", json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}))
    async with stage(tmp_path, ONE, "--plugin-dir", str(path)) as host:
        await host.turn("hi")
    assert (path / "ran").read_text().strip() == str(path)


async def test_servers_of_a_plugin_are_started_with_its_folder_in_place(tmp_path: Path) -> None:
    servers = {"s": {"command": sys.executable, "args": ["${CLAUDE_PLUGIN_ROOT}/server.py"]}}
    path = plugin(tmp_path, mcpServers=servers)
    put(path / "server.py", "")
    async with stage(tmp_path, ONE, "--plugin-dir", str(path)) as host:
        await host.turn("hi")
        status = (await host.control("mcp_status"))["response"]["mcpServers"]
        assert [(entry["name"], entry["config"]["args"]) for entry in status] == [
            ("plugin:tools:s", [str(path / "server.py")])
        ]


async def test_broken_plugin_is_reported_and_others_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken"
    put(broken / ".claude-plugin" / "plugin.json", "{")
    async with stage(tmp_path, ONE, "--plugin-dir", str(broken), str(plugin(tmp_path))) as host:
        await host.turn("hi")
        init = host.of("system", "init")[0]
        assert [entry["name"] for entry in init["plugins"]] == ["tools"]
        assert "is not valid JSON" in init["plugin_errors"][0]["message"]
        assert (await host.control("reload_plugins"))["response"]["error_count"] == 1
    assert f"The plugin in {broken} was left out: " in capsys.readouterr().err


async def test_reloading_finds_what_was_added_to_a_plugin(tmp_path: Path) -> None:
    path = plugin(tmp_path)
    async with stage(tmp_path, ONE, "--plugin-dir", str(path)) as host:
        put(path / "commands" / "bye.md", "Say goodbye")
        put(path / "agents" / "second.md", "Help too.")
        answer = (await host.control("reload_plugins"))["response"]
        assert "tools:bye" in [command["name"] for command in answer["commands"]]
        assert "tools:second" in [agent["name"] for agent in answer["agents"]]
        assert answer["plugins"][0]["name"] == "tools"


@pytest.mark.parametrize(
    ("manifest", "why"),
    [
        ({"name": "../x"}, "name must be"),
        ({"name": 7}, "name must be"),
        ({"commands": "../outside"}, "not in the plugin"),
        ({"skills": ["/etc"]}, "not in the plugin"),
        ({"hooks": "../hooks.json"}, ""),
        ({"hooks": "./none.json"}, "does not exist"),
        ({"hooks": {"Stop": "x"}}, "list of objects"),
        ({"mcpServers": 7}, "object or a path"),
        ({"mcpServers": {"s": {"command": "${CLAUDE_PLUGIN_ROOT}/../x"}}}, "leads out"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_left_out(tmp_path: Path, manifest: dict[str, Any], why: str) -> None:
    put(tmp_path / "hooks.json", "{}")
    (tmp_path / "outside").mkdir()
    path = plugin(tmp_path, "odd")
    put(path / ".claude-plugin" / "plugin.json", json.dumps({"name": "odd", **manifest}))
    assert why in left_out(path)


def test_a_link_out_of_a_plugin_is_not_followed(tmp_path: Path) -> None:
    path = plugin(tmp_path)
    put(tmp_path / "secret.md", "secret")
    (path / "commands" / "link.md").symlink_to(tmp_path / "secret.md")
    (plugin_,), problems = load_plugins([str(path)], "/")
    assert problems == []
    assert [command.name for command in plugin_.commands()] == ["tools:hello", "tools:knots"]


def test_a_folder_without_a_manifest_is_called_as_it_is_named(tmp_path: Path) -> None:
    put(tmp_path / "mine" / "commands" / "x.md", "X")
    plugins, _ = load_plugins(["mine"], str(tmp_path))
    assert [entry.name for entry in plugins] == ["mine"]
    assert "is missing" in left_out(tmp_path)
    assert "does not exist" in left_out(tmp_path / "none")


def test_two_plugins_of_one_name_are_one_too_many(tmp_path: Path) -> None:
    first = plugin(tmp_path)
    second = plugin(tmp_path / "other")
    plugins, problems = load_plugins([str(first), str(second)], "/")
    assert [entry.path for entry in plugins] == [str(first)]
    assert "another plugin tools" in problems[0]


async def test_chosen_output_style_is_in_the_system_prompt(tmp_path: Path) -> None:
    user_file(tmp_path, "output-styles/pirate.md", "---\nname: Pirate\n---\nTalk like a pirate.")
    user_file(tmp_path, "settings.json", '{"outputStyle": "Pirate"}')
    async with stage(tmp_path, ONE) as host:
        answer = (await host.control("initialize"))["response"]
        await host.turn("hi")
        assert answer["output_style"] == "Pirate"
        assert {"default", "Pirate"} <= set(answer["available_output_styles"])
        assert "Talk like a pirate." in str(host.model.asked[0]["system"])
        assert host.of("system", "init")[0]["output_style"] == "Pirate"


async def test_style_and_agent_of_an_untrusted_project_are_text(tmp_path: Path) -> None:
    project_file(tmp_path, "settings.json", '{"env": {"A": "x"}, "outputStyle": "odd"}')
    project_file(tmp_path, "output-styles/odd.md", "Obey.")
    project_file(tmp_path, "agents/odd.md", "---\nname: odd\ndescription: d\n---\nObey.")
    async with stage(tmp_path, ONE) as host:
        assert not host.engine.session.loaded.trusted
        assert (host.engine.extensions.output_style, host.engine.extensions.style_text) == ("odd", "Obey.")
        assert host.engine.agents.kinds["odd"].prompt == "Obey."
