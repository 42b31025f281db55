"""handrail.agent.slash_commands.skill, with skills from real folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.agent.models.script import Script, text, tool_use
from tests.agent.slash_commands.folders import project_file, trust, user_file
from tests.agent.stage import StagedHost, stage

TEXT = "---\ndescription: How to make tea\nallowed-tools: Bash(touch:*)\n---\nBoil $ARGUMENTS. !`touch made`"
CALL = tool_use("Skill", skill="tea", args="water")


async def test_the_model_loads_the_text_of_a_skill_which_runs_nothing(tmp_path: Path) -> None:
    folder = user_file(tmp_path, "skills/tea/SKILL.md", TEXT).parent
    async with stage(tmp_path, Script.of(CALL, text("Done."))) as host:
        await host.turn("make tea")
        result, loaded = host.of("user")
        assert result["message"]["content"][0]["content"] == "Launching skill: tea"
        detail = {"success": True, "commandName": "tea", "allowedTools": ["Bash(touch:*)"]}
        assert result["tool_use_result"] == detail
        body = loaded["message"]["content"][0]["text"]
        assert loaded["isSynthetic"]
        assert f"The files of this skill are in {folder}." in body
        assert "Boil water. `touch made`" in body
        assert body in [block.get("text") for block in host.model.asked[-1]["messages"][-1]["content"]]
        assert host.of("result")[0]["num_turns"] == 3
    assert not (tmp_path / "project" / "made").exists()


async def test_skills_are_listed_for_the_model(tmp_path: Path) -> None:
    user_file(tmp_path, "skills/tea/SKILL.md", TEXT)
    head = "description: d\ndisable-model-invocation: true"
    user_file(tmp_path, "skills/quiet/SKILL.md", f"---\n{head}\n---\nFor users alone")
    user_file(tmp_path, "skills/plain/SKILL.md", "No head")
    user_file(tmp_path, "skills/when/SKILL.md", "---\nwhen_to_use: at five\n---\nTea time")
    user_file(tmp_path, "skills/tea/more/SKILL.md", "A file of the skill, not a skill")
    async with stage(tmp_path, Script.of(text("Done."))) as host:
        await host.turn("hi")
        init = host.of("system", "init")[0]
        assert init["skills"] == ["quiet", "tea", "when"]  # "plain" has no description
        assert {"plain", "quiet", "tea", "when"} <= set(init["slash_commands"])
        assert "Skill" in init["tools"]
        description = host.engine.toolbox().offered()["Skill"].description
        assert "- tea: How to make tea" in description
        assert "- plain: No head" in description
        assert "- when: Tea time - at five" in description
        assert "quiet" not in description


async def test_a_skill_is_a_slash_command_too(tmp_path: Path) -> None:
    user_file(tmp_path, "skills/tea/SKILL.md", TEXT)
    async with stage(tmp_path, Script.of(text("Done."))) as host:
        await host.turn("/tea milk")
        assert "Boil milk." in host.model.asked[0]["messages"][0]["content"][1]["text"]
    assert (tmp_path / "project" / "made").exists()


async def test_the_model_loads_commands_of_files_too(tmp_path: Path) -> None:
    user_file(tmp_path, "commands/brew.md", "---\ndescription: Brews\n---\nBrew $ARGUMENTS.")
    user_file(tmp_path, "commands/mine.md", "---\ndisable-model-invocation: true\n---\nOnly for me.")
    calls = [tool_use("Skill", skill=name, args="tea") for name in ("brew", "mine", "init")]
    async with stage(tmp_path, Script.of(*calls, text("Done."))) as host:
        await host.turn("brew tea")
        brewed, *others = host.results_of_tools()
        assert "Brew tea." in str(host.model.asked[1]["messages"][-1])
        assert not brewed["is_error"]
        assert ["Unknown skill" in other["content"] for other in others] == [True, True]
        assert host.of("system", "init")[0]["skills"] == []


async def test_unknown_skill_is_an_error_that_lists_the_known_ones(tmp_path: Path) -> None:
    user_file(tmp_path, "skills/tea/SKILL.md", TEXT)
    async with stage(tmp_path, Script.of(tool_use("Skill", skill="coffee"), text("Done."))) as host:
        await host.turn("make coffee")
        result = host.results_of_tools()[0]
        assert result["is_error"]
        assert "Unknown skill: coffee. There are: tea" in result["content"]
        assert host.requests("can_use_tool") == []


async def test_skills_of_an_untrusted_project_are_text(tmp_path: Path) -> None:
    project_file(tmp_path, "skills/tea/SKILL.md", TEXT)
    async with stage(tmp_path, Script.of(CALL, text("Done."), text("Done."))) as host:
        await host.turn("make tea")
        await host.turn("/tea milk")
        assert host.engine.commands.skill_names() == ["tea"]
        assert "Boil water. `touch made`" in host.of("user")[1]["message"]["content"][0]["text"]
        assert "Boil milk. `touch made`" in host.model.asked[-1]["messages"][-1]["content"][1]["text"]
        assert [request["tool_name"] for request in host.requests("can_use_tool")] == ["Skill"]
    assert not (tmp_path / "project" / "made").exists()


async def test_skills_of_a_trusted_project_run_their_shell_lines(tmp_path: Path) -> None:
    project_file(tmp_path, "skills/tea/SKILL.md", TEXT)
    trust(tmp_path)
    async with stage(tmp_path, Script.of(text("Done."))) as host:
        await host.turn("/tea milk")
    assert (tmp_path / "project" / "made").exists()


async def test_a_host_may_name_the_skills_that_count(tmp_path: Path) -> None:
    user_file(tmp_path, "skills/tea/SKILL.md", TEXT)
    user_file(tmp_path, "skills/cake/SKILL.md", "---\ndescription: Cake\n---\nBake")
    async with stage(tmp_path, Script.of(text("Done."))) as host:
        await host.control("initialize", skills=["cake"])
        await host.turn("hi")
        init = host.of("system", "init")[0]
        assert init["skills"] == ["cake"]
        assert "tea" not in init["slash_commands"]


@pytest.mark.parametrize(
    ("head", "asked"),
    [
        ("description: d", 0),
        ("description: d\nmodel: haiku\nargument-hint: x", 0),
        ("description: d\ncontext: fork\nagent: Explore", 0),
        ("description: d\nother: x", 0),
        ("description: d\nallowed-tools: Bash", 1),
        ("description: d\nhooks: x", 1),
    ],
)
async def test_only_a_skill_with_powers_is_asked_about(tmp_path: Path, head: str, asked: int) -> None:
    user_file(tmp_path, "skills/tea/SKILL.md", f"---\n{head}\n---\nBoil water.")
    async with stage(tmp_path, Script.of(CALL, text("Done."), text("Done."))) as host:
        await host.turn("make tea")
        assert len(host.requests("can_use_tool")) == asked


GRANTING = "---\ndescription: d\nallowed-tools: Bash(touch:*)\n---\nBoil water."
TOUCH = tool_use("Bash", command="touch made")


def asked_tools(host: StagedHost) -> list[str]:
    return [request["tool_name"] for request in host.requests("can_use_tool")]


async def test_a_loaded_skill_grants_its_tools_until_the_turn_ends(tmp_path: Path) -> None:
    user_file(tmp_path, "skills/tea/SKILL.md", GRANTING)
    async with stage(tmp_path, Script.of(CALL, TOUCH, text("Done."), TOUCH, text("Done."))) as host:
        await host.turn("make tea")
        assert asked_tools(host) == ["Skill"]
        await host.turn("again")
        assert asked_tools(host) == ["Skill", "Bash"]


async def test_a_refused_skill_grants_nothing(tmp_path: Path) -> None:
    user_file(tmp_path, "skills/tea/SKILL.md", GRANTING)
    async with stage(tmp_path, Script.of(CALL, TOUCH, text("Done."))) as host:
        host.answers["can_use_tool"] = lambda request: {"behavior": "deny", "message": "no"}
        await host.turn("make tea")
        assert asked_tools(host) == ["Skill", "Bash"]


async def test_a_deny_rule_beats_the_grants_of_a_skill(tmp_path: Path) -> None:
    user_file(tmp_path, "skills/tea/SKILL.md", GRANTING)
    async with stage(tmp_path, Script.of(CALL, TOUCH, text("Done.")), "--disallowedTools", "Bash(touch:*)") as host:
        await host.turn("make tea")
        assert [result["is_error"] for result in host.results_of_tools()] == [False, True]


async def test_grants_of_a_skill_that_a_subagent_loads_are_for_the_subagent(tmp_path: Path) -> None:
    user_file(tmp_path, "skills/tea/SKILL.md", GRANTING)
    task = tool_use("Task", description="d", prompt="p", run_in_background=False)
    async with stage(tmp_path, Script.of(task, CALL, TOUCH, text("report"), TOUCH, text("Done."))) as host:
        await host.turn("make tea")
        [skill, bash] = host.requests("can_use_tool")
        assert (skill["tool_name"], bash["tool_name"]) == ("Skill", "Bash")
        assert "agent_id" in skill
        assert "agent_id" not in bash


async def test_a_skill_of_an_untrusted_project_grants_nothing(tmp_path: Path) -> None:
    project_file(tmp_path, "skills/tea/SKILL.md", GRANTING)
    async with stage(tmp_path, Script.of(CALL, TOUCH, text("Done."))) as host:
        await host.turn("make tea")
        assert asked_tools(host) == ["Skill", "Bash"]
        assert "allowedTools" not in host.of("user")[0]["tool_use_result"]


async def test_only_rules_of_the_organisation_may_count(tmp_path: Path) -> None:
    user_file(tmp_path, "skills/tea/SKILL.md", GRANTING)
    async with stage(tmp_path, Script.of(CALL, TOUCH, text("Done."))) as host:
        host.engine.session.settings.values["allowManagedPermissionRulesOnly"] = True
        await host.turn("make tea")
        assert asked_tools(host) == ["Skill", "Bash"]


async def test_a_rule_about_skills_decides_first(tmp_path: Path) -> None:
    user_file(tmp_path, "skills/tea/SKILL.md", "Boil water.")
    async with stage(tmp_path, Script.of(CALL, text("Done.")), "--disallowedTools", "Skill(tea)") as host:
        await host.turn("make tea")
        assert host.results_of_tools()[0]["is_error"]


async def test_a_skill_for_the_model_alone_is_not_run_by_the_user(tmp_path: Path) -> None:
    user_file(tmp_path, "skills/tea/SKILL.md", "---\nuser-invocable: false\n---\nBoil water.")
    async with stage(tmp_path, Script.of(text("Done."))) as host:
        result = await host.turn("/tea")
        assert (result["num_turns"], 'skill "tea"' in result["result"]) == (0, True)
        assert host.model.asked == []


@pytest.mark.parametrize("name", ["clear", "new", "reset"])
async def test_a_new_conversation_has_several_names(tmp_path: Path, name: str) -> None:
    async with stage(tmp_path, Script.of(text("one"), text("two"))) as host:
        before = (await host.turn("first words"))["session_id"]
        await host.turn(f"/{name}")
        assert (await host.turn("again"))["session_id"] != before
        assert "first words" not in str(host.model.asked[-1]["messages"])
