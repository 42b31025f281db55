"""Commands and skills with `context: fork`, which run in a subagent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handrail.agent.models.script import Script, When, http_error, reply, text, tool_use
from handrail.transcripts import read_subagents
from tests.agent.slash_commands.folders import project_file, user_file
from tests.agent.stage import StagedHost, stage

FORK = "---\ndescription: Makes tea\ncontext: fork\n{more}---\nBoil $ARGUMENTS."
CALL = tool_use("Skill", skill="tea", args="water")
TOUCH = tool_use("Bash", command="touch made")


def skill(folder: Path, more: str = "") -> None:
    user_file(folder, "skills/tea/SKILL.md", FORK.format(more=more))


def seen(host: StagedHost, request: int) -> str:
    """The messages of a request to the model."""
    return json.dumps(host.model.asked[request]["messages"])


async def test_a_typed_command_runs_in_a_subagent(tmp_path: Path) -> None:
    skill(tmp_path)
    async with stage(tmp_path, Script.of(text("one"), text("Tea is ready."), text("two"))) as host:
        await host.turn("earlier words")
        result = await host.turn("/tea milk")
        assert (result["result"], result["num_turns"], result["local_command"]) == ("Tea is ready.", 0, "custom")
        assert "terminal_reason" not in result
        assert result["subagent_stats"]["spawned"] == 0
        [started], [ended] = host.of("system", "task_started"), host.of("system", "task_notification")
        assert (started["description"], started["ambient"], started["spawn_depth"]) == ("/tea", True, 1)
        assert (ended["task_id"], ended["status"]) == (started["task_id"], "completed")
        assert "tool_use_id" not in started
        [prompt] = host.of("user")
        assert (prompt["parent_tool_use_id"], prompt["task_description"]) == ("forked-command-tea", "Makes tea")
        answer = host.of("assistant")[-1]
        assert answer["local_command_source"] == "<local-command-stdout>Tea is ready.</local-command-stdout>"
        assert "Boil milk." in seen(host, 1)
        assert "earlier words" not in seen(host, 1)
        await host.turn("and now")
        assert "Tea is ready." in seen(host, 2)
        assert "<command-args>milk" in seen(host, 2)
        assert "Boil" not in seen(host, 2)
        id = host.engine.session.id
    [agent] = read_subagents(id, config_home=tmp_path / "home" / ".claude")
    assert agent.messages[0].text().endswith("Boil milk.")
    async with stage(tmp_path, Script.of(text("three")), "--resume", id) as host:
        await host.turn("go on")
        assert "Tea is ready." in seen(host, 0)


async def test_calls_of_a_typed_command_are_denied_instead_of_asked_about(tmp_path: Path) -> None:
    skill(tmp_path)
    task = tool_use("Task", description="d", prompt="p", run_in_background=False)
    script = Script.of(TOUCH, task, TOUCH, text("report of the second"), text("Done."))
    async with stage(tmp_path, script) as host:
        result = await host.turn("/tea milk")
        assert result["result"] == "Done."
        assert [call["tool_name"] for call in result["permission_denials"]] == ["Bash", "Bash"]
        assert host.requests("can_use_tool") == []
    assert not (tmp_path / "project" / "made").exists()


async def test_a_typed_command_grants_its_tools_to_its_subagent(tmp_path: Path) -> None:
    skill(tmp_path, "allowed-tools: Bash(touch:*)\n")
    async with stage(tmp_path, Script.of(TOUCH, text("Done."), TOUCH, text("two"))) as host:
        assert (await host.turn("/tea"))["permission_denials"] == []
        assert (tmp_path / "project" / "made").exists()
        await host.turn("again")
        assert len(host.requests("can_use_tool")) == 1


async def test_the_model_runs_a_skill_in_a_subagent(tmp_path: Path) -> None:
    skill(tmp_path)
    async with stage(tmp_path, Script.of(CALL, TOUCH, text("Tea is ready."), text("Done."))) as host:
        result = await host.turn("make tea")
        assert (result["result"], result["num_turns"]) == ("Done.", 2)
        [asked] = host.requests("can_use_tool")
        [started] = host.of("system", "task_started")
        assert (asked["tool_name"], asked["agent_id"]) == ("Bash", started["task_id"])
        detail = next(line["tool_use_result"] for line in host.of("user") if "tool_use_result" in line)
        assert (detail["status"], detail["agentId"]) == ("forked", started["task_id"])
        assert detail["result"] == "Tea is ready."
        assert "Boil" not in seen(host, -1)


async def test_grants_of_a_skill_in_a_subagent_end_with_it(tmp_path: Path) -> None:
    skill(tmp_path, "allowed-tools: Bash(touch:*)\n")
    async with stage(tmp_path, Script.of(CALL, TOUCH, text("report"), TOUCH, text("Done."))) as host:
        await host.turn("make tea")
        asked = [(request["tool_name"], request.get("agent_id")) for request in host.requests("can_use_tool")]
        assert asked == [("Skill", None), ("Bash", None)]


async def test_a_subagent_that_continues_has_no_grants(tmp_path: Path) -> None:
    skill(tmp_path, "allowed-tools: Bash(touch:*)\n")
    async with stage(tmp_path, Script.of(CALL, text("report"), text("Done."))) as host:
        await host.turn("make tea")
        send = tool_use("SendMessage", to=host.of("system", "task_started")[0]["task_id"], message="And milk?")
        host.model.play(send, reply(TOUCH, when=When(prompt="And milk?")), text("a"), text("b"), text("c"))
        await host.turn("go on")
        asked = await host.until(lambda: host.requests("can_use_tool")[1:])
        assert asked[0]["tool_name"] == "Bash"


async def test_a_skill_that_runs_itself_ends_at_the_lowest_level(tmp_path: Path) -> None:
    skill(tmp_path)
    script = Script.of(CALL, CALL, CALL, CALL, text("third"), text("second"), text("first"), text("Done."))
    async with stage(tmp_path, script) as host:
        assert (await host.turn("make tea"))["result"] == "Done."
        assert [line["spawn_depth"] for line in host.of("system", "task_started")] == [1, 2, 3]


@pytest.mark.parametrize(
    ("more", "kind", "model"),
    [
        ("agent: rev\n", "rev", "claude-of-agent"),
        ("agent: REV\nmodel: claude-of-skill\n", "rev", "claude-of-skill"),
        ("agent: unknown\n", "general-purpose", None),
    ],
)
async def test_a_command_names_the_kind_and_the_model(tmp_path: Path, more: str, kind: str, model: str | None) -> None:
    skill(tmp_path, more)
    head = "name: rev\ndescription: R\nmodel: claude-of-agent\nbackground: true"
    user_file(tmp_path, "agents/rev.md", f"---\n{head}\n---\nREVIEWER")
    async with stage(tmp_path, Script.of(text("Done."), text("two"))) as host:
        await host.turn("/tea")
        assert host.of("system", "task_started")[0]["subagent_type"] == kind
        assert ("REVIEWER" in json.dumps(host.model.asked[0]["system"])) == (kind == "rev")
        assert host.model.asked[0]["model"] == (model or host.engine.session.model)
        await host.turn("hi")
        assert host.model.asked[1]["model"] == host.engine.session.model


async def test_a_kind_with_isolation_is_refused(tmp_path: Path) -> None:
    skill(tmp_path, "agent: rev\n")
    user_file(tmp_path, "agents/rev.md", "---\nname: rev\ndescription: R\nisolation: worktree\n---\nREVIEWER")
    async with stage(tmp_path, Script.of(text("Done."))) as host:
        assert "isolation 'worktree' is not supported" in (await host.turn("/tea"))["result"]
        assert host.model.asked == []


async def test_an_untrusted_project_chooses_no_kind(tmp_path: Path) -> None:
    head = "description: d\ncontext: fork\nagent: rev\nallowed-tools: Bash"
    project_file(tmp_path, "skills/tea/SKILL.md", f"---\n{head}\n---\nBoil. !`touch made`")
    user_file(tmp_path, "agents/rev.md", "---\nname: rev\ndescription: R\npermissionMode: acceptEdits\n---\nREVIEWER")
    async with stage(tmp_path, Script.of(TOUCH, text("Done."))) as host:
        result = await host.turn("/tea")
        assert host.of("system", "task_started")[0]["subagent_type"] == "general-purpose"
        assert [call["tool_name"] for call in result["permission_denials"]] == ["Bash"]
    assert not (tmp_path / "project" / "made").exists()


async def test_an_interrupted_command_has_an_empty_result(tmp_path: Path) -> None:
    skill(tmp_path)
    async with stage(tmp_path, Script.of(TOUCH, text("Done."))) as host:
        host.answers["hook_callback"] = lambda request: None
        await host.control("initialize", hooks={"PreToolUse": [{"matcher": None, "hookCallbackIds": ["c"]}]})
        await host.say("/tea")
        await host.until(lambda: host.requests("hook_callback"))
        await host.control("interrupt")
        result = await host.result()
        assert (result["subtype"], result["result"], result["num_turns"]) == ("success", "", 0)
        assert host.of("system", "task_notification")[0]["status"] == "stopped"
        assert host.results_of_tools()[0]["is_error"]
        await host.turn("hi")
        assert "which the user interrupted" in seen(host, -1)


async def test_a_call_that_the_user_rejects_ends_the_subagent(tmp_path: Path) -> None:
    skill(tmp_path)
    async with stage(tmp_path, Script.of(CALL, TOUCH, text("Done."))) as host:
        host.answers["can_use_tool"] = lambda request: {"behavior": "deny", "message": "no", "interrupt": True}
        assert (await host.turn("make tea"))["result"] == "Done."
        assert host.of("system", "task_notification")[0]["status"] == "stopped"


async def test_an_error_of_the_api_is_the_report(tmp_path: Path) -> None:
    skill(tmp_path)
    async with stage(tmp_path, Script.of(*[http_error(400, "invalid_request_error", "bad")] * 6)) as host:
        result = await host.turn("/tea")
        assert (result["is_error"], "bad" in result["result"]) == (False, True)
        assert host.of("system", "task_notification")[0]["status"] == "failed"


async def test_hooks_of_a_typed_command(tmp_path: Path) -> None:
    skill(tmp_path)
    events = ("UserPromptSubmit", "UserPromptExpansion", "SubagentStart", "SubagentStop", "Stop")
    async with stage(tmp_path, Script.of(text("report"), text("More."))) as host:
        heard: list[str] = []

        def answer(request: dict[str, object]) -> dict[str, object]:
            event = str(request["input"]["hook_event_name"])  # type: ignore[index]
            heard.append(event)
            first = event == "Stop" and heard.count("Stop") == 1
            return {"decision": "block", "reason": "go on"} if first else {}

        host.answers["hook_callback"] = answer
        hooks = {event: [{"matcher": None, "hookCallbackIds": ["c"]}] for event in events}
        await host.control("initialize", hooks=hooks)
        result = await host.turn("/tea")
        assert heard == ["UserPromptExpansion", "UserPromptSubmit", "SubagentStart", "SubagentStop", "Stop", "Stop"]
        assert (result["result"], result["terminal_reason"]) == ("More.", "completed")
        assert "go on" in seen(host, -1)


async def test_the_review_of_the_agent_runs_in_a_subagent(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("Fine."))) as host:
        result = await host.turn("/review 12")
        assert (result["result"], result["local_command"]) == ("Fine.", "review")
        assert "What to review: 12" in seen(host, 0)
