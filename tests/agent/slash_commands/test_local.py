"""Commands that are answered without the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.agent.models.script import Script, text, tool_use
from tests.agent.slash_commands.folders import project_file, user_file
from tests.agent.stage import hooks_for, stage

ONE = Script.of(text("Hello."), text("Again."))


@pytest.mark.parametrize("name", ["cost", "usage"])
async def test_cost_and_usage_report_cost_time_tokens_and_changes(tmp_path: Path, name: str) -> None:
    script = Script.of(tool_use("Write", file_path=str(tmp_path / "project/n.txt"), content="a\nb\n"), text("."))
    async with stage(tmp_path, script) as host:
        await host.turn("hi")
        result = await host.turn(f"/{name}")
        told = host.of("assistant")[-1]
        assert "Total cost:            $" in result["result"]
        assert "2 lines added, 0 lines removed" in result["result"]
        assert host.engine.session.model in result["result"]
        assert (result["num_turns"], result["local_command"]) == (0, name)
        assert told["message"]["model"] == "<synthetic>"
        assert told["local_command_run"] == {"command": "usage", "args": ""}
        assert len(host.model.asked) == 2


async def test_context_reports_the_parts_of_the_window(tmp_path: Path) -> None:
    async with stage(tmp_path, ONE) as host:
        result = (await host.turn("/context"))["result"]
        usage = (await host.control("get_context_usage"))["response"]
        rows = {row["name"]: row["tokens"] for row in usage["categories"]}
        assert "| System tools |" in result
        assert sum(rows.values()) == usage["maxTokens"]
        assert rows["System prompt"] > 0 < rows["System tools"]


@pytest.mark.parametrize("name", ["debug", "keybindings-help"])
async def test_commands_for_terminals_answer_with_nothing(tmp_path: Path, name: str) -> None:
    async with stage(tmp_path, ONE) as host:
        assert (await host.turn(f"/{name}"))["result"] == ""
        assert host.of("assistant") == []


@pytest.mark.parametrize("name", ["help", "exit", "status", "hooks", "memory", "login"])
async def test_help_and_exit_say_that_they_are_not_available(tmp_path: Path, name: str) -> None:
    async with stage(tmp_path, ONE) as host:
        result = await host.turn(f"/{name}")
        assert result["result"] == f"/{name} isn't available in this environment."
        assert "local_command" not in result
        assert host.of("assistant")[0]["local_command_outcome"] == {"kind": "unavailable_headless"}
        assert name not in host.of("system", "init")[0]["slash_commands"]


async def test_model_shows_and_sets_the_model(tmp_path: Path) -> None:
    async with stage(tmp_path, ONE) as host:
        assert host.engine.session.model in (await host.turn("/model"))["result"]
        assert "claude-haiku-x" in (await host.turn("/model claude-haiku-x"))["result"]
        await host.turn("hi")
        assert host.model.asked[0]["model"] == "claude-haiku-x"


async def test_effort_shows_and_sets_the_level(tmp_path: Path) -> None:
    async with stage(tmp_path, ONE, "--model", "opus") as host:
        assert "Usage: /effort <" in (await host.turn("/effort"))["result"]
        assert "Usage: /effort <" in (await host.turn("/effort enormous"))["result"]
        assert host.engine.session.effort_for(host.engine.session.model) == "medium"
        assert (await host.turn("/effort high"))["result"] == "Set effort level to high"
        assert host.engine.session.effort_level == "high"


async def test_agents_and_output_style_answer_without_the_model(tmp_path: Path) -> None:
    async with stage(tmp_path, ONE, "--settings", '{"outputStyle": "Concise"}') as host:
        assert ".claude/agents" in (await host.turn("/agents"))["result"]
        assert "Concise" in (await host.turn("/output-style"))["result"]
        assert host.model.asked == []


async def test_file_of_the_user_replaces_a_terminal_command(tmp_path: Path) -> None:
    user_file(tmp_path, "commands/status.md", "How are things?")
    project_file(tmp_path, "commands/memory.md", "Theirs")
    async with stage(tmp_path, ONE) as host:
        assert (await host.turn("/status"))["result"] == "Hello."
        assert "isn't available" in (await host.turn("/memory"))["result"]


async def test_permissions_lists_the_rules_by_where_they_come_from(tmp_path: Path) -> None:
    project_file(tmp_path, "settings.json", '{"permissions": {"deny": ["Read(./x)"], "allow": ["Bash(make:*)"]}}')
    async with stage(tmp_path, ONE, "--allowedTools", "Bash(ls:*)") as host:
        told = (await host.turn("/permissions"))["result"]
        flag, project, withheld = told.split("\n\n")[1:]
        assert flag == "From the command line:\n- allow `Bash(ls:*)`"
        assert project == "From the project:\n- deny `Read(./x)`"
        assert "not trusted" in withheld
        assert "Bash(make:*)" in withheld


async def test_mcp_lists_the_servers(tmp_path: Path) -> None:
    servers = '{"mcpServers": {"broken": {"command": "/no/such/program"}}}'
    async with stage(tmp_path, ONE, "--mcp-config", servers) as host:
        assert "- broken: failed" in (await host.turn("/mcp"))["result"]


async def test_config_fast_and_rename_answer_with_text(tmp_path: Path) -> None:
    async with stage(tmp_path, ONE) as host:
        assert "Permission mode: default" in (await host.turn("/config"))["result"]
        assert "Fast mode" in (await host.turn("/fast"))["result"]
        assert "'A title'" in (await host.turn("/rename A title"))["result"]
        assert host.of("system", "session_title_changed")[0]["title"] == "A title"


async def test_compact_of_an_empty_conversation_fails(tmp_path: Path) -> None:
    async with stage(tmp_path, ONE) as host:
        result = await host.turn("/compact")
        told = host.of("assistant")[0]
        assert (result["subtype"], result["result"], result["local_command"]) == ("success", "", "compact")
        assert told["local_command_outcome"] == {"kind": "failed"}
        assert told["local_command_source"].startswith("<local-command-stderr>Error: ")


async def test_a_second_compact_has_not_enough_messages(tmp_path: Path) -> None:
    script = Script.of(text("one"), text("<summary>all</summary>"), text("two"))
    async with stage(tmp_path, script) as host:
        await host.turn("hi")
        await host.turn("/compact")
        result = await host.turn("/compact")
        assert (result["result"], result["num_turns"]) == ("Not enough messages to compact.", 0)
        assert len(host.of("system", "compact_boundary")) == 1
        assert host.of("system", "status")[-1]["compact_result"] == "failed"


async def test_clear_leaves_background_tasks_running(tmp_path: Path) -> None:
    command = f"until [ -e {tmp_path}/go ]; do sleep 0.05; done"
    call = tool_use("Bash", command=command, run_in_background=True)
    async with stage(tmp_path, Script.of(call, text("started"), text("noticed"))) as host:
        await host.turn("go")
        result = await host.turn("/clear")
        assert [task["description"] for task in host.of("system", "background_tasks_changed")[-1]["tasks"]] == [command]
        (tmp_path / "go").touch()
        noticed = await host.result(2)
        assert (noticed["result"], noticed["session_id"]) == ("noticed", result["session_id"])
        assert noticed["origin"]["kind"] == "task-notification"
        assert host.of("system", "task_notification")[0]["status"] == "completed"


async def test_clear_runs_the_hooks_of_both_sessions(tmp_path: Path) -> None:
    async with stage(tmp_path, ONE) as host:
        host.answers["hook_callback"] = lambda request: {}
        await host.control("initialize", hooks=hooks_for("SessionEnd", "SessionStart"))
        await host.turn("hi")
        before = len(host.requests("hook_callback"))
        result = await host.turn("/clear")
        heard = [request["input"] for request in host.requests("hook_callback")[before:]]
        assert [(told["hook_event_name"], told.get("reason"), told.get("source")) for told in heard] == [
            ("SessionEnd", "clear", None),
            ("SessionStart", None, "clear"),
        ]
        assert heard[1]["session_id"] == result["session_id"]
        assert (result["total_cost_usd"], result["duration_api_ms"], result["modelUsage"]) == (0, 0, {})


async def test_clear_starts_a_conversation_with_a_new_id(tmp_path: Path) -> None:
    async with stage(tmp_path, ONE) as host:
        before = await host.turn("remember the word pear")
        result = await host.turn("/clear")
        await host.turn("hi")
        assert result["session_id"] != before["session_id"]
        assert "pear" not in str(host.model.asked[-1]["messages"])
        assert host.of("conversation_reset")[0]["trigger"] == "clear"


async def test_lifecycle_of_a_local_command_is_reported(tmp_path: Path) -> None:
    id = "0b8a4a26-8f5b-4d5b-9a0e-1d2f3a4b5c6d"
    async with stage(tmp_path, ONE) as host:
        await host.turn("/cost", uuid=id)
        await host.until(lambda: len(host.of("command_lifecycle")) >= 3)
        assert [line["state"] for line in host.of("command_lifecycle")] == ["queued", "started", "completed"]
