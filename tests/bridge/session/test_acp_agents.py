"""Sessions with an ACP agent that was chosen at their start."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.bridge.session.acp_agents import AcpAgents
from handrail.model_access.acp_agents import AcpAgent, add_agent, remove_agent
from handrail.model_access.choice import CliChoice
from handrail.testing import scripted_acp_agent
from tests.bridge.stage import Refused, stage
from tests.client.scripted_cli import write_cli

pytestmark = pytest.mark.usefixtures("anywhere")
ANSWERS = """
    while True:
        say(result(prompt()))
"""
CAN = {
    "loadSession": True,
    "promptCapabilities": {"image": True},
    "sessionCapabilities": {"fork": {}, "resume": {}},
}


@pytest.fixture(autouse=True)
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent named "scripted", which repeats prompts, and a file with what it received."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # without agents that happen to be installed
    monkeypatch.setenv("ACP_AGENT_LOG", str(tmp_path / "requests.jsonl"))
    script = tmp_path / "script.json"
    named = {"agentInfo": {"name": "scripted", "title": "Scripted agent", "version": "1.2"}, "agentCapabilities": CAN}
    script.write_text(json.dumps({"initialize": named}))
    add("scripted", sys.executable, scripted_acp_agent.__file__, str(script))


def add(name: str, *command: str) -> None:
    add_agent(name, AcpAgent(list(command), ["ACP_AGENT_LOG"]))


def methods(folder: Path) -> list[str]:
    return [json.loads(line)[0] for line in (folder / "requests.jsonl").read_text().splitlines()]


async def test_the_chosen_agent_answers_also_in_a_fork(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start(agent="scripted", prompt="Hello agent")
        async with on.viewer(session) as viewer:
            assert (await viewer.until_result())["result"] == "Hello agent"
            await viewer.until_state("idle")
        assert (await on.host(session)).record.line().agent == "scripted"
        fork = (await on.do("fork", session=session, prompt="And here"))["session"]
        assert fork["agent"] == "scripted"
        async with on.viewer(fork["id"]) as viewer:
            await viewer.until(lambda: "And here" in [line["result"] for line in viewer.frames("result")])
        assert methods(tmp_path).count("session/fork") == 1


async def test_the_agent_is_kept_when_the_session_resumes(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start(agent="scripted", prompt="one")
        async with on.viewer(session) as viewer:
            await viewer.until_result()
            await on.do("stop", session=session)
            await on.do("send", session=session, text="two")
            assert (await viewer.until_result(2))["result"] == "two"
        assert methods(tmp_path).count("session/resume") == 1


async def test_an_unknown_agent_is_refused_with_the_known_ones(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        with pytest.raises(Refused, match="'other' not found on this machine; it has scripted; add it") as refused:
            await on.start(agent="other")
        assert refused.value.code == "unknown_agent"
        for bad in ("../x", "-x", "a b", "x" * 65):
            with pytest.raises(Refused) as refused:
                await on.start(agent=bad)
            assert refused.value.code == "bad_fields"


@pytest.mark.one_server
async def test_a_session_whose_agent_was_removed_says_so(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        session = await on.start(agent="scripted")
        await on.do("stop", session=session)
        remove_agent("scripted")
        with pytest.raises(Refused, match="'scripted' not found on this machine; it has none"):
            await on.do("resume", session=session)


async def test_defaults_for_the_cli_do_not_apply_to_an_agent(tmp_path: Path):
    async with stage(tmp_path, write_cli(tmp_path, ANSWERS)) as on:
        chosen: Any = await on.bridge.defaults.get()
        await on.bridge.defaults.put(type(chosen)(model="opus", effort="high", mode="plan"))
        session = await on.start(agent="scripted", mode="default")
        options = (await on.host(session)).record.options
        assert not {"model", "effort"} & options.keys()


async def test_agents_are_listed_and_asked_what_they_can_do(tmp_path: Path):
    agents = AcpAgents(CliChoice("agent"))
    add("broken", "/bin/false")
    assert [(row.name, row.asked) for row in await agents.rows()] == [("broken", False), ("scripted", False)]
    broken, scripted = await agents.rows("scripted")
    assert (scripted.asked, scripted.title, scripted.version) == (True, "Scripted agent", "1.2")
    assert (scripted.images, scripted.resume, scripted.fork) == (True, True, True)
    assert not broken.asked
    broken, _ = await agents.rows("broken")
    assert not broken.asked
    assert "has ended (exit code 1)" in broken.problem
    await agents.rows("scripted")
    assert methods(tmp_path) == ["initialize"]
    await agents.close()
    assert await AcpAgents(CliChoice("agent"), runs=False).rows() == []
