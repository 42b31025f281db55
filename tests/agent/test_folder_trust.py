"""The files of a folder in a session of the agent, before the folder is trusted and after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.script import Script, text, tool_use
from tests.agent.processes import agent
from tests.agent.slash_commands.folders import project_file, put, trust
from tests.agent.stage import StagedHost, stage

JsonObject = dict[str, Any]
SETTINGS = {
    "model": "claude-of-the-folder",
    "outputStyle": "pirate",
    "env": {"FROM_FOLDER": "yes"},
    "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch hooked"}]}]},
    "permissions": {
        "allow": ["Bash(touch:*)"],
        "deny": ["Bash(mkdir:*)"],
        "additionalDirectories": ["../outside"],
        "defaultMode": "acceptEdits",
    },
}
GIVEN = ["handrail", "cli", "flag", "variable"]


def furnish(folder: Path) -> None:
    """A project with every kind of file that an agent reads."""
    project_file(folder, "settings.json", json.dumps(SETTINGS))
    project_file(folder, "output-styles/pirate.md", "---\nname: pirate\n---\nSPEAK LIKE A PIRATE")
    project_file(
        folder, "agents/poet.md", "---\nname: poet\ndescription: writes\ntools: Read\nmodel: haiku\n---\nVERSE"
    )
    project_file(
        folder, "skills/tea/SKILL.md", "---\ndescription: Tea\nallowed-tools: Bash\n---\nBoil. !`touch boiled`"
    )
    project_file(folder, "commands/do.md", "---\nallowed-tools: Bash\nmodel: opus\n---\nDo $0. !`touch done`")
    put(folder / "project" / "CLAUDE.md", "NOTES OF THE FOLDER")
    put(
        folder / "project" / ".mcp.json",
        json.dumps({"mcpServers": {"theirs": {"command": "touch", "args": ["served"]}}}),
    )


def give(folder: Path, how: str) -> tuple[list[str], dict[str, str]]:
    """Trust the project in one of the ways. Returns the flags and the variables of the agent for it."""
    if how == "handrail":
        trust(folder)
    elif how == "cli":
        answer = {"projects": {str(folder / "project"): {"hasTrustDialogAccepted": True}}}
        put(folder / "home" / ".claude.json", json.dumps(answer))
    return ["--trust-folder"] if how == "flag" else [], {"HANDRAIL_TRUST_FOLDER": "1"} if how == "variable" else {}


def system_text(host: StagedHost) -> str:
    return json.dumps(host.model.asked[0]["system"])


async def test_text_and_choices_of_an_untrusted_folder_count(tmp_path: Path) -> None:
    furnish(tmp_path)
    async with stage(tmp_path, Script.of(tool_use("Skill", skill="tea"), text("Done."))) as host:
        await host.turn("hi")
        init = host.of("system", "init")[0]
        assert (init["model"], init["output_style"]) == ("claude-of-the-folder", "pirate")
        assert "SPEAK LIKE A PIRATE" in system_text(host)
        assert "NOTES OF THE FOLDER" in str(host.model.asked[0]["messages"][0])
        assert "poet" in init["agents"]
        assert init["skills"] == ["tea"]
        assert {"do", "tea"} <= set(init["slash_commands"])
        poet = host.engine.agents.kinds["poet"]
        assert (poet.prompt.strip(), poet.tools, poet.model) == ("VERSE", ["Read"], "haiku")
        assert "Boil. `touch boiled`" in json.dumps(host.of("user")[1])


async def test_nothing_of_an_untrusted_folder_runs_or_widens(tmp_path: Path) -> None:
    furnish(tmp_path)
    calls = [tool_use("Bash", command="touch touched"), tool_use("Bash", command="mkdir made")]
    async with stage(tmp_path, Script.of(calls, text("."), text("."), text("."))) as host:
        host.answers["can_use_tool"] = lambda request: {"behavior": "deny", "message": "no"}
        await host.turn("hi")
        assert [request["input"]["command"] for request in host.requests("can_use_tool")] == ["touch touched"]
        init = host.of("system", "init")[0]
        assert (init["permissionMode"], init["mcp_servers"]) == ("default", [])
        session = host.engine.session
        assert (session.folders, "FROM_FOLDER" in session.child_environment()) == ((), False)
        await host.turn("/do it")
        await host.turn("/tea")
        assert host.model.asked[-2]["messages"][-1]["content"][1]["text"] == "Do it. `touch done`"
        assert [rule for rule in session.circumstances.rules if rule.scope == "command"] == []
    left = {path.name for path in (tmp_path / "project").iterdir()}
    assert left == {".claude", ".mcp.json", "CLAUDE.md"}


@pytest.mark.parametrize("how", GIVEN)
async def test_everything_of_a_trusted_folder_counts(tmp_path: Path, how: str) -> None:
    furnish(tmp_path)
    flags, variables = give(tmp_path, how)
    call = tool_use("Bash", command="touch touched")
    async with stage(tmp_path, Script.of(call, text(".")), *flags, environment=variables) as host:
        await host.turn("hi")
        assert host.requests("can_use_tool") == []
        init = host.of("system", "init")[0]
        assert (init["permissionMode"], [server["name"] for server in init["mcp_servers"]]) == (
            "acceptEdits",
            ["theirs"],
        )
        assert host.engine.session.folders == (str(tmp_path / "outside"),)
        assert host.engine.session.child_environment()["FROM_FOLDER"] == "yes"
    for name in ("hooked", "touched", "served"):
        assert (tmp_path / "project" / name).exists(), name


@pytest.mark.parametrize("how", ["", *GIVEN])
async def test_notice_names_what_is_left_out(tmp_path: Path, how: str) -> None:
    """On stderr, and only if something is left out."""
    furnish(tmp_path)
    flags, variables = give(tmp_path, how)
    async with agent(tmp_path, Script.of(text("ok")), *flags, environment=variables) as running:
        await running.turn("hi")
        assert await running.end() == 0
        told = await running.stderr()
    if how:
        assert told == ""
    else:
        for name in ("allow Bash(touch:*)", "SessionStart", "theirs", "FROM_FOLDER", "handrail trust accept"):
            assert name in told
        assert told.count("\n") == 1


@pytest.mark.parametrize("sources", ["user", ""])
async def test_notice_is_not_written_about_sources_that_the_host_excluded(tmp_path: Path, sources: str) -> None:
    furnish(tmp_path)
    async with agent(tmp_path, Script.of(text("ok")), "--setting-sources", sources) as running:
        await running.turn("hi")
        await running.end()
        assert await running.stderr() == ""


async def test_variable_is_not_passed_to_child_processes(tmp_path: Path) -> None:
    """It vouches for the folder of this session, not for those of agents that a command starts."""
    call = tool_use("Bash", command="env | grep -c HANDRAIL_TRUST_FOLDER")
    async with stage(tmp_path, Script.of(call, text(".")), environment={"HANDRAIL_TRUST_FOLDER": "1"}) as host:
        await host.turn("hi")
        assert host.results_of_tools()[0]["content"].splitlines()[-1] == "0"


async def test_trust_in_the_cli_is_looked_up_where_the_cli_stores_it(tmp_path: Path) -> None:
    furnish(tmp_path)
    config = tmp_path / "config"
    config.mkdir()
    give(tmp_path, "cli")
    async with stage(tmp_path, Script.of(text(".")), environment={"CLAUDE_CONFIG_DIR": str(config)}) as host:
        assert not host.engine.session.loaded.trusted
    (tmp_path / "home" / ".claude.json").rename(config / ".claude.json")
    async with stage(tmp_path, Script.of(text(".")), environment={"CLAUDE_CONFIG_DIR": str(config)}) as host:
        assert host.engine.session.loaded.trusted


async def test_names_of_an_untrusted_folder_replace_none(tmp_path: Path) -> None:
    project_file(tmp_path, "settings.json", json.dumps({"env": {"A": "x"}}))
    project_file(tmp_path, "agents/general-purpose.md", "THEIRS")
    project_file(tmp_path, "output-styles/Concise.md", "THEIRS")
    project_file(tmp_path, "skills/review/SKILL.md", "THEIRS")
    async with stage(tmp_path, Script.of(text("."))) as host:
        assert host.engine.agents.kinds["general-purpose"].prompt != "THEIRS"
        assert host.engine.extensions.styles.text("Concise") != "THEIRS"
        await host.turn("/review")
        assert "THEIRS" not in json.dumps(host.model.asked[0]["messages"])


async def test_untrusted_plan_mode_does_not_open_a_bypass(tmp_path: Path) -> None:
    """If bypassing is available, plan mode asks for nothing, so the folder's choice would widen."""
    project_file(tmp_path, "settings.json", json.dumps({"permissions": {"defaultMode": "plan"}}))
    async with stage(tmp_path, Script.of(text("."))) as host:
        assert host.engine.session.mode == "plan"
    async with stage(tmp_path, Script.of(text(".")), "--allow-dangerously-skip-permissions") as host:
        assert host.engine.session.mode == "default"
    trust(tmp_path)
    async with stage(tmp_path, Script.of(text(".")), "--allow-dangerously-skip-permissions") as host:
        assert host.engine.session.mode == "plan"


async def test_name_of_a_skill_cannot_add_a_shell_line(tmp_path: Path) -> None:
    project_file(tmp_path, "skills/!`touch named`/SKILL.md", "---\nallowed-tools: Bash\n---\nText")
    trust(tmp_path)
    call = tool_use("Skill", skill="!`touch named`")
    async with stage(tmp_path, Script.of(call, text("."), text("."))) as host:
        await host.turn("go")
        assert "Text" in json.dumps(host.of("user")[1])
        command = host.engine.commands.known["!`touch named`"]
        from handrail.agent.slash_commands.expansion import ShellLine, expansion_of

        assert not any(isinstance(part, ShellLine) for part in expansion_of(command, "").parts)
    assert not (tmp_path / "project" / "named").exists()


@pytest.mark.parametrize("place", ["sub/.git", "docs/kit", "a/b/c/.git"])
@pytest.mark.parametrize("when", ["before", "later"])
async def test_git_below_the_folder_runs_nothing_that_a_repository_configures(
    tmp_path: Path, place: str, when: str
) -> None:
    project, canary = tmp_path / "project", tmp_path / "canary"
    folder = project / place.removesuffix("/.git")

    def unpack() -> None:
        git = project / place
        for part in ("objects", "refs"):
            (git / part).mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        (git / "config").write_text(f'[core]\n\tfsmonitor = "touch {canary}; false"\n\tbare = false\n\tworktree = .\n')

    project.mkdir()
    if when == "before":
        unpack()
    script = Script.of(text("ok"), tool_use("Bash", command=f"cd {folder} && git status"), text("ok"))
    async with stage(tmp_path, script, asks=False) as host:
        await host.turn("hi")
        if when == "later":
            unpack()
        await host.turn("go")
        # Refused, or run in the cage with git's own programs switched off: either way nothing of it may run.
        assert len(host.results_of_tools()) == 1
    assert not canary.exists()
