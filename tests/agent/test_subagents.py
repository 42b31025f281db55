"""Subagents and what they leave on disk."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from handrail.agent.models.script import Script, text, tool_use
from handrail.agent.models.script import reply as answer
from handrail.transcripts import read_session, read_subagents
from tests.agent.stage import stage


async def test_a_subagent_has_a_file_of_its_own_with_what_it_is(tmp_path: Path):
    call = tool_use("Task", description="look", prompt="look around", run_in_background=False)
    script = Script.of(call, tool_use("Bash", command="echo seen"), text("report"), text("done"))
    async with stage(tmp_path, script) as host:
        await host.turn("go")
        id, path = host.engine.session.id, host.engine.transcript.path
    [agent] = read_subagents(id, config_home=tmp_path / "home" / ".handrail")
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


async def test_two_subagents_at_once_have_two_files_and_the_session_neither_of_their_words(tmp_path: Path):
    calls = [tool_use("Task", description=name, prompt=f"do {name}", run_in_background=False) for name in ("a", "b")]
    script = Script.of(answer(*calls), text("report"), text("report"), text("done"))
    async with stage(tmp_path, script) as host:
        assert (await host.turn("go"))["result"] == "done"
        id, path = host.engine.session.id, host.engine.transcript.path
    agents = read_subagents(id, config_home=tmp_path / "home" / ".handrail")
    assert sorted(agent.messages[0].text() for agent in agents) == ["do a", "do b"]
    assert len({agent.tool_use_id for agent in agents}) == 2
    assert {entry.decode()["isSidechain"] for entry in read_session(path).messages} == {False}


async def test_a_subagent_in_the_background_is_written_down_too_and_reports_later(tmp_path: Path):
    call = tool_use("Task", description="later", prompt="look", run_in_background=True)
    when_told: dict[str, object] = {
        "when": {"prompt": "task-notification"},
        "blocks": [{"type": "text", "text": "heard"}],
    }
    script = Script.from_json(answers(call.name, call.input, when_told), source="script")
    async with stage(tmp_path, script) as host:
        await host.turn("go")
        last = await host.result(1)
        id = host.engine.session.id
    assert last["result"] == "heard"
    [agent] = read_subagents(id, config_home=tmp_path / "home" / ".handrail")
    assert [message.text() for message in agent.messages] == ["look", "report"]


async def test_a_session_with_subagents_is_resumed_without_their_words(tmp_path: Path):
    call = tool_use("Task", description="look", prompt="look", run_in_background=False)
    async with stage(tmp_path, Script.of(call, text("report"), text("done"))) as host:
        await host.turn("go")
        id, last = host.engine.session.id, host.engine.history.messages
    async with stage(tmp_path, Script.of(text("two")), "--resume", id) as host:
        assert host.engine.history.messages == last


def answers(name: str, given: dict[str, object], *more: dict[str, object]) -> bytes:
    """A script in which the subagent, which is asked to look, reports, whatever happens first."""
    replies = [
        *more,
        {"when": {"prompt": "look"}, "blocks": [{"type": "text", "text": "report"}]},
        {"blocks": [{"type": "tool_use", "name": name, "input": given}]},
        {"blocks": [{"type": "text", "text": "started"}]},
    ]
    return json.dumps({"replies": replies}).encode()
