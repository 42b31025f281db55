from __future__ import annotations

from pathlib import Path

import pytest

from handrail.agent.errors import Refused
from handrail.agent.models.script import Script, text
from tests.agent.stage import StagedHost, stage

FILE = "---\nname: poet\ndescription: writes\ntools: Read, Grep\nmodel: opus\n---\nYou write verse.\n"


def put(folder: Path, text: str = FILE) -> None:
    folder.mkdir(parents=True)
    (folder / "poet.md").write_text(text)


async def kinds(folder: Path, *flags: str) -> StagedHost:
    async with stage(folder, Script.of(text("ok")), *flags) as host:
        return host


async def test_built_in_agents_exist(tmp_path: Path) -> None:
    host = await kinds(tmp_path)
    assert {"general-purpose", "Explore", "Plan"} <= set(host.engine.agents.names())


async def test_the_users_own_agents_are_read(tmp_path: Path) -> None:
    put(tmp_path / "home" / ".claude" / "agents")
    poet = (await kinds(tmp_path)).engine.agents.kinds["poet"]
    assert (poet.description, poet.tools, poet.model) == ("writes", ["Read", "Grep"], "opus")
    assert poet.prompt.strip() == "You write verse."


async def test_agents_of_an_untrusted_folder_are_text(tmp_path: Path) -> None:
    put(tmp_path / "project" / ".claude" / "agents", FILE.replace("model: opus", "permissionMode: bypassPermissions"))
    host = await kinds(tmp_path)
    assert not host.engine.session.loaded.trusted
    poet = host.engine.agents.kinds["poet"]
    assert (poet.prompt.strip(), poet.tools) == ("You write verse.", ["Read", "Grep"])


async def test_agents_of_the_user_replace_those_of_the_folder(tmp_path: Path) -> None:
    put(tmp_path / "project" / ".claude" / "agents")
    put(tmp_path / "home" / ".claude" / "agents", FILE.replace("verse", "prose"))
    assert "prose" in (await kinds(tmp_path)).engine.agents.kinds["poet"].prompt


async def test_agents_of_the_command_line(tmp_path: Path) -> None:
    given = '{"poet": {"description": "d", "prompt": "p", "maxTurns": 3, "disallowedTools": ["Bash"], "model": null}}'
    poet = (await kinds(tmp_path, "--agents", given)).engine.agents.kinds["poet"]
    assert (poet.max_turns, poet.disallowed_tools, poet.model) == (3, ["Bash"], "")


@pytest.mark.parametrize("given", ["{", "[]", '{"poet": 5}'])
async def test_invalid_agents_of_the_command_line_are_refused(tmp_path: Path, given: str) -> None:
    with pytest.raises(Refused, match="Invalid --agents configuration"):
        await kinds(tmp_path, "--agents", given)


async def test_agents_of_the_host_are_listed_without_invalid_ones(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        agents = {"poet": {"description": "d", "prompt": "p"}, "none": {"description": 5}, "worse": "x"}
        answer = await host.control("initialize", agents=agents)
        names = [agent["name"] for agent in answer["response"]["agents"]]
        assert set(names) & set(agents) == {"poet"}
        await host.turn("go")
        assert "poet" in host.of("system", "init")[0]["agents"]


@pytest.mark.parametrize(
    "text",
    ["Notes for the team.\n", "---\nname: poet\n---\nNo description.\n", "---\ndescription: writes\n---\nNo name.\n"],
)
async def test_a_file_without_name_and_description_is_no_agent(tmp_path: Path, text: str) -> None:
    put(tmp_path / "home" / ".claude" / "agents", text)
    host = await kinds(tmp_path)
    assert set(host.engine.agents.names()) == {"general-purpose", "Explore", "Plan"}


async def test_a_file_limits_and_equips_its_agent(tmp_path: Path) -> None:
    head = "maxTurns: 3\nbackground: true\npermissionMode: plan\nskills: tea, milk\n---"
    put(tmp_path / "home" / ".claude" / "agents", FILE.replace("---\nYou", f"{head}\nYou"))
    kind = (await kinds(tmp_path)).engine.agents.kinds["poet"]
    assert (kind.max_turns, kind.background, kind.permission_mode, kind.skills) == (3, True, "plan", ["tea", "milk"])
