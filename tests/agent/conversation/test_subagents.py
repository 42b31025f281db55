"""Subagents and what they leave on disk."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from handrail.agent.models.script import Script, ToolUse, text, tool_use
from handrail.agent.models.script import reply as answer
from handrail.transcripts import read_session, read_subagents
from tests.agent.stage import stage


async def test_a_subagent_has_its_own_transcript(tmp_path: Path):
    call = tool_use("Task", description="look", prompt="look around", run_in_background=False)
    script = Script.of(call, tool_use("Bash", command="echo seen"), text("report"), text("done"))
    async with stage(tmp_path, script) as host:
        await host.turn("go")
        id, path = host.engine.session.id, host.engine.transcript.path
    [agent] = read_subagents(id, config_home=tmp_path / "home" / ".claude")
    assert (agent.agent_type, agent.description) == ("general-purpose", "look")
    assert agent.tool_use_id is not None
    assert [message.type for message in agent.messages] == ["user", "assistant", "user", "assistant"]
    assert agent.messages[0].text() == "look around"
    for message in agent.messages:
        entry = message.decode()
        assert (entry["isSidechain"], entry["agentId"], entry["sessionId"]) == (True, agent.agent_id, id)
    assert agent.path.parent == path.with_suffix("") / "subagents"
    assert stat.S_IMODE(agent.path.stat().st_mode) == 0o600
    assert "look around" not in [message.text() for message in read_session(path).messages]


async def test_parallel_subagents_have_separate_transcripts(tmp_path: Path):
    calls = [tool_use("Task", description=name, prompt=f"do {name}", run_in_background=False) for name in ("a", "b")]
    script = Script.of(answer(*calls), text("report"), text("report"), text("done"))
    async with stage(tmp_path, script) as host:
        assert (await host.turn("go"))["result"] == "done"
        id, path = host.engine.session.id, host.engine.transcript.path
    agents = read_subagents(id, config_home=tmp_path / "home" / ".claude")
    assert sorted(agent.messages[0].text() for agent in agents) == ["do a", "do b"]
    assert len({agent.tool_use_id for agent in agents}) == 2
    assert {entry.decode()["isSidechain"] for entry in read_session(path).messages} == {False}


async def test_a_background_subagent_is_recorded_and_reports_later(tmp_path: Path):
    call = tool_use("Task", description="later", prompt="look", run_in_background=True)
    when_told: dict[str, object] = {
        "when": {"prompt": "task-notification"},
        "blocks": [{"type": "text", "text": "heard"}],
    }
    script = Script.from_json(answers(call.name, call.input, when_told), source="script")
    async with stage(tmp_path, script) as host:
        await host.turn("go")
        await host.until(lambda: any(line["result"] == "heard" for line in host.of("result")))
        id = host.engine.session.id
    [agent] = read_subagents(id, config_home=tmp_path / "home" / ".claude")
    assert [message.text() for message in agent.messages] == ["look", "report"]


async def test_a_resumed_session_leaves_out_subagents(tmp_path: Path):
    call = tool_use("Task", description="look", prompt="look", run_in_background=False)
    async with stage(tmp_path, Script.of(call, text("report"), text("done"))) as host:
        await host.turn("go")
        id, last = host.engine.session.id, host.engine.history.messages
    async with stage(tmp_path, Script.of(text("two")), "--resume", id) as host:
        await host.turn("next")
        assert host.engine.history.messages[: len(last)] == last


async def test_a_subagent_sees_the_environment_and_the_memory_files(tmp_path: Path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "CLAUDE.md").write_text("Be brief.")
    call = tool_use("Task", description="look", prompt="look", run_in_background=False)
    async with stage(tmp_path, Script.of(call, text("report"), text("done"))) as host:
        await host.turn("go")
        asked = host.model.asked[1]
    assert "Be brief." in str(asked["messages"][0])
    assert str(tmp_path / "project") in str(asked["system"])


@pytest.mark.parametrize("kind", ["Explore", "Plan"])
async def test_a_subagent_that_only_looks_around_gets_no_memory_files(tmp_path: Path, kind: str):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "CLAUDE.md").write_text("Be brief.")
    call = tool_use("Task", description="look", prompt="look", subagent_type=kind, run_in_background=False)
    async with stage(tmp_path, Script.of(call, text("report"), text("done"))) as host:
        await host.turn("go")
        asked = host.model.asked
    assert "Be brief." not in str(asked[1])
    assert "Be brief." in str(asked[2])


async def test_the_model_is_offered_all_kinds_with_their_descriptions(tmp_path: Path):
    agents = json.dumps({"reviewer": {"description": "Reviews changes", "prompt": "p"}})
    async with stage(tmp_path, Script.of(text("done")), "--agents", agents) as host:
        await host.turn("go")
        (task,) = [tool for tool in host.model.asked[0]["tools"] if tool["name"] == "Task"]
    assert "- reviewer: Reviews changes" in task["description"]
    assert "- Explore: " in task["description"]


async def test_a_rule_denies_one_kind_of_subagent(tmp_path: Path):
    calls = [
        tool_use("Task", description="look", prompt="look", subagent_type=kind, run_in_background=False)
        for kind in ("Plan", "Explore")
    ]
    script = Script.of(calls[0], calls[1], text("report"), text("done"))
    async with stage(tmp_path, script, "--disallowedTools", "Task(Plan)") as host:
        result = await host.turn("go")
        denied, allowed = host.results_of_tools()
    assert denied["is_error"]
    assert "has been denied by permission rule 'Task(Plan)'" in denied["content"]
    assert not allowed["is_error"]
    assert not result["permission_denials"]


async def test_the_environment_chooses_the_model_of_subagents(tmp_path: Path):
    call = tool_use("Task", description="look", prompt="look", run_in_background=False)
    variables = {"CLAUDE_CODE_SUBAGENT_MODEL": "claude-opus-4-1"}
    async with stage(tmp_path, Script.of(call, text("report"), text("done")), environment=variables) as host:
        await host.turn("go")
        main, sub, last = (asked["model"] for asked in host.model.asked)
    assert sub == "claude-opus-4-1"
    assert main == last != sub


@pytest.mark.parametrize(
    ("given", "kind", "chosen"),
    [
        ({"model": "haiku"}, {}, "claude-haiku-5-5"),
        ({}, {"model": "haiku"}, "claude-haiku-5-5"),
        ({}, {"model": "inherit"}, "Demo"),
    ],
)
async def test_the_environment_replaces_no_model_that_is_named(
    tmp_path: Path, given: dict[str, str], kind: dict[str, str], chosen: str
):
    flags = ("--agents", json.dumps({"rev": {"description": "d", "prompt": "p", **kind}}))
    call = tool_use("Task", description="look", prompt="look", subagent_type="rev", run_in_background=False, **given)
    variables = {"CLAUDE_CODE_SUBAGENT_MODEL": "claude-opus-4-1"}
    async with stage(tmp_path, Script.of(call, text("report"), text("done")), *flags, environment=variables) as host:
        await host.turn("go")
        assert host.model.asked[1]["model"] == chosen


@pytest.mark.parametrize(("wrong", "why"), [({"model": "nonsense"}, "model"), ({"subagent_type": "nobody"}, "nobody")])
async def test_an_unknown_model_or_kind_starts_no_subagent(tmp_path: Path, wrong: dict[str, str], why: str):
    call = tool_use("Task", description="look", prompt="look", run_in_background=False, **wrong)
    async with stage(tmp_path, Script.of(call, text("done"))) as host:
        await host.turn("go")
        result = host.results_of_tools()[0]
        assert result["is_error"]
        assert why in str(result["content"])
        assert len(host.model.asked) == 2


@pytest.mark.parametrize(("rules", "runs"), [((), True), (("--disallowedTools", "Task(Explore)"), False)])
async def test_a_kind_may_be_written_in_other_letters(tmp_path: Path, rules: tuple[str, ...], runs: bool):
    call = tool_use("Task", description="look", prompt="look", subagent_type="explore", run_in_background=False)
    async with stage(tmp_path, Script.of(call, text("report"), text("done")), *rules) as host:
        await host.turn("go")
        assert (host.results_of_tools()[0].get("is_error") is not True) == runs
        assert len(host.model.asked) == (3 if runs else 2)


async def test_calls_of_a_subagent_that_are_denied_are_in_the_result(tmp_path: Path):
    call = tool_use("Task", description="look", prompt="look", run_in_background=False)
    script = Script.of(call, tool_use("Bash", command="touch made"), text("report"), text("done"))
    async with stage(tmp_path, script) as host:
        host.answers["can_use_tool"] = lambda request: {"behavior": "deny", "message": "no"}
        result = await host.turn("go")
    assert [denied["tool_name"] for denied in result["permission_denials"]] == ["Bash"]


@pytest.mark.parametrize(("mode", "asked"), [("acceptEdits", 0), ("dontAsk", 0), ("plan", 1), ("bypassPermissions", 1)])
async def test_the_definition_of_a_subagent_chooses_its_mode(tmp_path: Path, mode: str, asked: int):
    flags = ("--agents", json.dumps({"rev": {"description": "d", "prompt": "p", "permissionMode": mode}}))
    call = tool_use("Task", description="look", prompt="look", subagent_type="rev", run_in_background=False)
    write = tool_use("Write", file_path=str(tmp_path / "project" / "made.txt"), content="x")
    async with stage(tmp_path, Script.of(call, write, text("report"), text("done")), *flags) as host:
        await host.turn("go")
        assert len(host.requests("can_use_tool")) == asked
    assert (tmp_path / "project" / "made.txt").exists() == (mode != "dontAsk")


async def test_skills_of_a_subagent_are_loaded_before_it_begins(tmp_path: Path):
    skill = tmp_path / "home" / ".claude" / "skills" / "tea" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: tea\ndescription: d\n---\nBoil water.")
    flags = ("--agents", json.dumps({"rev": {"description": "d", "prompt": "p", "skills": ["tea", "gone"]}}))
    call = tool_use("Task", description="look", prompt="look", subagent_type="rev", run_in_background=False)
    async with stage(tmp_path, Script.of(call, text("report"), text("done")), *flags) as host:
        await host.turn("go")
        assert "Boil water." in str(host.model.asked[1]["messages"])
        assert "Boil water." not in str(host.model.asked[2]["messages"])


async def test_a_subagent_at_its_limit_says_so(tmp_path: Path):
    agents = json.dumps({"brief": {"description": "d", "prompt": "p", "maxTurns": 2}})
    call = tool_use("Task", description="look", prompt="look", subagent_type="brief", run_in_background=False)
    echo = tool_use("Bash", command="echo hi")
    async with stage(tmp_path, Script.of(call, echo, echo, text("done")), "--agents", agents) as host:
        assert (await host.turn("go"))["result"] == "done"
        assert "limit of 2 turns" in str(host.results_of_tools()[-1]["content"])


def answers(name: str, given: dict[str, object], *more: dict[str, object]) -> bytes:
    """A script in which the subagent, which is asked to look, reports, in any order of events."""
    replies = [
        *more,
        {"when": {"prompt": "look"}, "blocks": [{"type": "text", "text": "report"}]},
        {"blocks": [{"type": "tool_use", "name": name, "input": given}]},
        {"blocks": [{"type": "text", "text": "started"}]},
    ]
    return json.dumps({"replies": replies}).encode()


@pytest.mark.parametrize("where", ["call", "file", "flag"])
async def test_isolation_is_refused_instead_of_ignored(tmp_path: Path, where: str):
    agents = tmp_path / "home" / ".claude" / "agents"
    agents.mkdir(parents=True)
    (agents / "careful.md").write_text(
        "---\nname: careful\ndescription: Careful\nisolation: worktree\n---\nBe careful."
    )
    flags = ("--agents", json.dumps({"other": {"description": "o", "prompt": "p", "isolation": "worktree"}}))
    given = {
        "call": {"isolation": "worktree"},
        "file": {"subagent_type": "careful"},
        "flag": {"subagent_type": "other"},
    }
    call = tool_use("Task", description="look", prompt="look", run_in_background=False, **given[where])
    async with stage(tmp_path, Script.of(call, text("done")), *flags) as host:
        await host.turn("go")
        assert "isolation 'worktree' is not supported" in str(host.results_of_tools()[0]["content"])
        assert len(host.model.asked) == 2


@pytest.mark.parametrize("background", [False, True])
async def test_an_error_of_the_api_is_the_report_of_a_subagent(tmp_path: Path, background: bool):
    refused = {"when": {"prompt": "look"}, "error": {"status": 403, "message": "not for you"}}
    given = {"description": "look", "prompt": "look", "run_in_background": background}
    script = Script.from_json(answers("Task", given, refused), source="script")
    async with stage(tmp_path, script) as host:
        await host.turn("go")
        told = await host.until_line("system", "task_notification")
        assert told["status"] == "completed"
        assert not host.results_of_tools()[0].get("is_error")


def delegate(prompt: str, **fields: object) -> ToolUse:
    return tool_use("Task", description=prompt, prompt=prompt, **{"run_in_background": False, **fields})


async def test_subagents_start_subagents_down_to_the_third_level(tmp_path: Path):
    calls = [delegate(name) for name in ("one", "two", "three", "four")]
    script = Script.of(*calls, text("deepest"), text("second"), text("first"), text("done"))
    async with stage(tmp_path, script) as host:
        result = await host.turn("go")
        assert result["result"] == "done"
        assert result["subagent_stats"]["max_depth"] == 3
        started = host.of("system", "task_started")
        assert [line["spawn_depth"] for line in started] == [1, 2, 3]
        assert [line.get("parent_task_id") for line in started] == [None, *(line["task_id"] for line in started[:2])]
        offered = [any(tool["name"] == "Task" for tool in asked["tools"]) for asked in host.model.asked[:4]]
        assert offered == [True, True, True, False]


@pytest.mark.parametrize(("flags", "seen"), [((), 0), (("--forward-subagent-text",), 4)])
async def test_a_nested_subagent_works_silently(tmp_path: Path, flags: tuple[str, ...], seen: int):
    calls = delegate("one"), delegate("two"), tool_use("Bash", command="touch x")
    script = Script.of(*calls, text("r2"), text("r1"), text("done"))
    async with stage(tmp_path, script, *flags) as host:
        assert (await host.turn("go"))["result"] == "done"
        [asked] = host.requests("can_use_tool")
        id = host.of("system", "task_started")[1]["tool_use_id"]
        lines = [line for line in host.lines if line.get("parent_tool_use_id") == id]
        assert asked["agent_id"] == host.of("system", "task_started")[1]["task_id"]
        assert len(lines) == seen


@pytest.mark.parametrize("name", ["Task", "Agent"])
async def test_a_kind_may_be_kept_from_starting_subagents(tmp_path: Path, name: str):
    kinds = {"all": {}, "none": {"disallowedTools": [name]}, "some": {"tools": ["Read", name]}}
    agents = json.dumps({kind: {"description": "d", "prompt": "p", **fields} for kind, fields in kinds.items()})
    for kind, offers in (("all", True), ("none", False), ("some", True)):
        call = delegate("look", subagent_type=kind)
        async with stage(tmp_path, Script.of(call, text("report"), text("done")), "--agents", agents) as host:
            await host.turn("go")
            assert any(tool["name"] == "Task" for tool in host.model.asked[1]["tools"]) is offers


@pytest.mark.parametrize("depth", [1, 2])
async def test_an_interrupting_denial_ends_only_the_subagent(tmp_path: Path, depth: int):
    calls = [delegate(str(level)) for level in range(depth)]
    denied = answer(tool_use("Bash", command="touch x"), tool_use("Bash", command="touch y"))
    rest = [text("above"), text("done")][2 - depth :]
    async with stage(tmp_path, Script.of(*calls, denied, *rest)) as host:
        host.answers["can_use_tool"] = lambda request: {"behavior": "deny", "message": "no", "interrupt": True}
        result = await host.turn("go")
        assert (result["result"], result["is_error"]) == ("done", False)
        assert [call["tool_name"] for call in result["permission_denials"]] == ["Bash"]
        deepest = host.of("system", "task_started")[-1]
        results = host.results_of_tools()
        if depth == 1:
            assert [block["is_error"] for block in results] == [True, True, True]
        [stopped] = [block for block in results if block["tool_use_id"] == deepest["tool_use_id"]]
        assert stopped["content"] == "[Request interrupted by user for tool use]"
        [notice] = [line for line in host.of("system", "task_notification") if line["task_id"] == deepest["task_id"]]
        assert notice["status"] == "stopped"


async def test_an_interrupting_denial_stops_a_background_subagent(tmp_path: Path):
    call = delegate("look", run_in_background=True)
    told: dict[str, object] = {"when": {"prompt": "task-notification"}, "blocks": [{"type": "text", "text": "heard"}]}
    work: dict[str, object] = {
        "when": {"prompt": "look"},
        "blocks": [{"type": "tool_use", "name": "Bash", "input": {"command": "touch x"}}],
    }
    script = Script.from_json(answers(call.name, call.input, told, work), source="script")
    async with stage(tmp_path, script) as host:
        host.answers["can_use_tool"] = lambda request: {"behavior": "deny", "message": "no", "interrupt": True}
        await host.turn("go")
        await host.until(lambda: any(line["result"] == "heard" for line in host.of("result")))
        [notice] = host.of("system", "task_notification")
        assert notice["status"] == "stopped"
        [block] = [one for one in host.results_of_tools() if one["is_error"]]
        assert "does not want" in block["content"]
