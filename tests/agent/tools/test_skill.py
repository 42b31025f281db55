"""handrail.agent.tools.skill, with skills from real folders."""

from __future__ import annotations

from pathlib import Path

from handrail.agent.models.script import Script, text, tool_use
from tests.agent.slash_commands.folders import project_file, trust, user_file
from tests.agent.stage import stage

TEXT = "---\ndescription: How to make tea\nallowed-tools: Bash(touch:*)\n---\nBoil $ARGUMENTS. !`touch made`"
CALL = tool_use("Skill", skill="tea", args="water")


async def test_the_model_loads_the_text_of_a_skill_which_runs_and_grants_nothing(tmp_path: Path) -> None:
    folder = user_file(tmp_path, "skills/tea/SKILL.md", TEXT).parent
    async with stage(tmp_path, Script.of(CALL, text("Done."))) as host:
        await host.turn("make tea")
        result = host.results_of_tools()[0]
        assert not result["is_error"]
        assert f"The files of this skill are in {folder}." in result["content"]
        assert "Boil water. `touch made`" in result["content"]
        assert host.of("user")[0]["tool_use_result"] == {"success": True, "commandName": "tea"}
        assert [rule for rule in host.engine.session.circumstances.rules if rule.scope == "command"] == []
    assert not (tmp_path / "project" / "made").exists()


async def test_the_model_is_told_which_skills_there_are(tmp_path: Path) -> None:
    user_file(tmp_path, "skills/tea/SKILL.md", TEXT)
    user_file(tmp_path, "skills/quiet/SKILL.md", "---\ndisable-model-invocation: true\n---\nFor users alone")
    user_file(tmp_path, "skills/tea/more/SKILL.md", "A file of the skill, not a skill")
    async with stage(tmp_path, Script.of(text("Done."))) as host:
        await host.turn("hi")
        init = host.of("system", "init")[0]
        assert init["skills"] == ["quiet", "tea"]
        assert {"quiet", "tea"} <= set(init["slash_commands"])
        assert "Skill" in init["tools"]
        description = host.engine.toolbox.offered()["Skill"].description
        assert "- tea: How to make tea" in description
        assert "quiet" not in description


async def test_a_skill_is_a_slash_command_too(tmp_path: Path) -> None:
    user_file(tmp_path, "skills/tea/SKILL.md", TEXT)
    async with stage(tmp_path, Script.of(text("Done."))) as host:
        await host.turn("/tea milk")
        assert "Boil milk." in host.model.asked[0]["messages"][0]["content"][0]["text"]
    assert (tmp_path / "project" / "made").exists()


async def test_an_unknown_skill_is_told_with_those_there_are(tmp_path: Path) -> None:
    user_file(tmp_path, "skills/tea/SKILL.md", TEXT)
    async with stage(tmp_path, Script.of(tool_use("Skill", skill="coffee"), text("Done."))) as host:
        await host.turn("make coffee")
        result = host.results_of_tools()[0]
        assert result["is_error"]
        assert "Unknown skill: coffee. There are: tea" in result["content"]
        assert host.requests("can_use_tool") == []


async def test_skills_of_a_project_count_where_it_is_trusted(tmp_path: Path) -> None:
    project_file(tmp_path, "skills/tea/SKILL.md", TEXT)
    async with stage(tmp_path, Script.of(text("Done."))) as host:
        assert host.engine.commands.skill_names() == []
    trust(tmp_path)
    async with stage(tmp_path, Script.of(text("Done."))) as host:
        assert host.engine.commands.skill_names() == ["tea"]


async def test_a_host_may_name_the_skills_that_count(tmp_path: Path) -> None:
    user_file(tmp_path, "skills/tea/SKILL.md", TEXT)
    user_file(tmp_path, "skills/cake/SKILL.md", "Bake")
    async with stage(tmp_path, Script.of(text("Done."))) as host:
        await host.control("initialize", skills=["cake"])
        await host.turn("hi")
        init = host.of("system", "init")[0]
        assert init["skills"] == ["cake"]
        assert "tea" not in init["slash_commands"]
