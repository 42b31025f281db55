"""handrail.agent.slash_commands.skill, with skills from real folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.agent.models.script import Script, text, tool_use
from tests.agent.slash_commands.folders import project_file, trust, user_file
from tests.agent.stage import stage

TEXT = "---\ndescription: How to make tea\nallowed-tools: Bash(touch:*)\n---\nBoil $ARGUMENTS. !`touch made`"
CALL = tool_use("Skill", skill="tea", args="water")


async def test_the_model_loads_the_text_of_a_skill_which_runs_and_grants_nothing(tmp_path: Path) -> None:
    folder = user_file(tmp_path, "skills/tea/SKILL.md", TEXT).parent
    async with stage(tmp_path, Script.of(CALL, text("Done."))) as host:
        await host.turn("make tea")
        result, loaded = host.of("user")
        assert result["message"]["content"][0]["content"] == "Launching skill: tea"
        assert result["tool_use_result"] == {"success": True, "commandName": "tea"}
        body = loaded["message"]["content"][0]["text"]
        assert loaded["isSynthetic"]
        assert f"The files of this skill are in {folder}." in body
        assert "Boil water. `touch made`" in body
        assert body in [block.get("text") for block in host.model.asked[-1]["messages"][-1]["content"]]
        assert host.of("result")[0]["num_turns"] == 3
        assert [rule for rule in host.engine.session.circumstances.rules if rule.scope == "command"] == []
    assert not (tmp_path / "project" / "made").exists()


async def test_skills_are_listed_for_the_model(tmp_path: Path) -> None:
    user_file(tmp_path, "skills/tea/SKILL.md", TEXT)
    user_file(tmp_path, "skills/quiet/SKILL.md", "---\ndisable-model-invocation: true\n---\nFor users alone")
    user_file(tmp_path, "skills/tea/more/SKILL.md", "A file of the skill, not a skill")
    async with stage(tmp_path, Script.of(text("Done."))) as host:
        await host.turn("hi")
        init = host.of("system", "init")[0]
        assert init["skills"] == ["quiet", "tea"]
        assert {"quiet", "tea"} <= set(init["slash_commands"])
        assert "Skill" in init["tools"]
        description = host.engine.toolbox().offered()["Skill"].description
        assert "- tea: How to make tea" in description
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
    user_file(tmp_path, "skills/cake/SKILL.md", "Bake")
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
        ("description: d\nallowed-tools: Bash", 1),
        ("description: d\nhooks: x", 1),
    ],
)
async def test_only_a_skill_with_powers_is_asked_about(tmp_path: Path, head: str, asked: int) -> None:
    user_file(tmp_path, "skills/tea/SKILL.md", f"---\n{head}\n---\nBoil water.")
    async with stage(tmp_path, Script.of(CALL, text("Done."))) as host:
        await host.turn("make tea")
        assert len(host.requests("can_use_tool")) == asked


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
