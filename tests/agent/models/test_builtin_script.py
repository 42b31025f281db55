"""The built-in script and its tour, with real tools."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.agent.conversation.compaction import ASK_FOR_SUMMARY
from handrail.agent.known_models import cost, facts_of
from handrail.agent.models.base import ModelError, ModelRequest
from handrail.agent.models.builtin_script import (
    DEMO_MODEL,
    SUBAGENT,
    SUMMARY,
    builtin_model,
    builtin_script,
    builtin_stops,
)
from handrail.agent.models.script import Script
from handrail.agent.models.scripted import ScriptedModel
from handrail.agent.tools.base import ToolFailed
from handrail.agent.tools.desk import Desk
from handrail.agent.tools.registry import Tools

RUN = "Bash Read Write Edit Glob Grep NotebookEdit TodoWrite TaskCreate TaskUpdate TaskGet TaskList".split()
"""The tools run here. The others need a host, so their results are canned."""
OTHERS = {
    "AskUserQuestion": "The human likes files.",
    "EnterPlanMode": "Planning.",
    "ExitPlanMode": "The plan is approved.",
    "Task": "The subagent is done.",
    "mcp__lab__echo": "Echo.",
    "WebFetch": "Refused.",
}
MCP = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def definitions(*names: str) -> list[dict[str, Any]]:
    known = Tools()
    return [{"name": name, "input_schema": known[name].schema() if name in known else MCP} for name in names]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class Talk:
    """A conversation in a folder: a minimal loop that runs the calls of the model."""

    def __init__(self, folder: Path, *tools: str, model: ScriptedModel | None = None) -> None:
        self.model = model or builtin_model(label="test", folder=str(folder))
        self.desk = Desk(str(folder))
        self.tools = definitions(*(tools or (*RUN, *OTHERS)))
        self.history: list[dict[str, Any]] = []
        self.calls: list[tuple[str, dict[str, Any], str, bool]] = []
        self.errors: list[ModelError] = []
        self.usage: list[dict[str, Any]] = []
        self.denies: set[str] = set()

    async def say(self, prompt: str, *, denied: bool = False) -> str:
        self.history.append({"role": "user", "content": prompt})
        while True:
            message = await self.ask()
            self.history.append({"role": "assistant", "content": message["content"]})
            self.usage.append(message["usage"])
            calls = [block for block in message["content"] if block["type"] == "tool_use"]
            if not calls:
                return message["content"][-1]["text"]
            self.history.append({"role": "user", "content": [await self.result(call, denied=denied) for call in calls]})

    async def ask(self) -> dict[str, Any]:
        request = ModelRequest(DEMO_MODEL, self.history, tools=self.tools)
        try:
            return await self.model.whole(request)
        except ModelError as error:
            self.errors.append(error)
            return await self.model.whole(request)

    async def result(self, call: dict[str, Any], *, denied: bool) -> dict[str, Any]:
        denied = denied or call["name"] in self.denies
        content, failed = ("No.", True) if denied else await self.run(call["name"], call["input"])
        self.calls.append((call["name"], call["input"], str(content), failed))
        return {"type": "tool_result", "tool_use_id": call["id"], "content": content, "is_error": failed}

    async def run(self, name: str, given: dict[str, Any]) -> tuple[Any, bool]:
        tool = Tools().get(name)
        checked = tool.read(given) if tool else None
        if name in OTHERS or not tool:
            return OTHERS[name], False
        try:
            outcome = await tool.run(checked, self.desk)
        except ToolFailed as failure:
            return str(failure), True
        return outcome.content, outcome.is_error


@pytest.mark.parametrize("prompt", ["hi", "Write me a poem.", "what is a detour?", "a contour", ""])
async def test_any_other_prompt_gets_the_introduction(tmp_path: Path, prompt: str):
    said = await Talk(tmp_path).say(prompt)
    assert "I am a script" in said
    assert "`tour`" in said


async def test_tour_runs_every_tool_and_cleans_up(tmp_path: Path):
    talk = Talk(tmp_path)
    async with asyncio.timeout(60):
        end = await talk.say("Give me the tour, please!")
    assert "really run" in end
    assert {name for name, *_ in talk.calls} == {*RUN, *OTHERS}
    failed = [(name, content) for name, _, content, failed in talk.calls if failed]
    assert len(failed) == 1, failed
    assert failed[0][0] == "Read"
    assert names_in(tmp_path) == []


async def test_tour_shows_thinking_an_image_a_retry_and_a_full_window(tmp_path: Path):
    talk = Talk(tmp_path)
    async with asyncio.timeout(60):
        await talk.say("tour")
    assert talk.history[1]["content"][0]["type"] == "thinking"
    assert any("image" in content and "base64" in content for name, _, content, _ in talk.calls if name == "Read")
    assert [error.status for error in talk.errors] == [529]
    full = max(usage["input_tokens"] for usage in talk.usage)
    assert facts_of(DEMO_MODEL).context_window * 0.95 < full < facts_of(DEMO_MODEL).context_window


async def test_stops_without_their_tool_are_skipped(tmp_path: Path):
    talk = Talk(tmp_path, "Bash", "Read")
    async with asyncio.timeout(60):
        end = await talk.say("tour")
    assert "really run" in end
    assert {name for name, *_ in talk.calls} == {"Bash", "Read"}


async def test_existing_folder_is_left_alone(tmp_path: Path):
    (tmp_path / "handrail-tour").mkdir()
    (tmp_path / "handrail-tour" / "mine.txt").write_text("mine")
    talk = Talk(tmp_path)
    end = await talk.say("tour")
    assert "leave it alone" in end
    assert len(talk.calls) == 1
    assert (tmp_path / "handrail-tour" / "mine.txt").read_text() == "mine"


async def test_folder_is_removed_though_everything_else_was_denied(tmp_path: Path):
    talk = Talk(tmp_path)
    talk.denies = {"Write", "Edit", "NotebookEdit", "ExitPlanMode"}
    async with asyncio.timeout(60):
        end = await talk.say("tour")
    assert "has been removed" in end
    assert names_in(tmp_path) == []


async def test_folder_is_removed_when_the_session_ends_in_the_middle(tmp_path: Path):
    talk = Talk(tmp_path)
    talk.history = [{"role": "user", "content": "tour"}]
    for _ in range(3):
        message = await talk.ask()
        calls = [block for block in message["content"] if block["type"] == "tool_use"]
        results = [await talk.result(call, denied=False) for call in calls]
        talk.history += [{"role": "assistant", "content": message["content"]}, {"role": "user", "content": results}]
    assert names_in(tmp_path) == ["handrail-tour"]
    await talk.model.close()
    assert names_in(tmp_path) == []


async def test_denied_folder_ends_the_tour(tmp_path: Path):
    assert "ends here" in await Talk(tmp_path).say("tour", denied=True)
    assert names_in(tmp_path) == []


async def test_interrupt_ends_the_tour(tmp_path: Path):
    talk = Talk(tmp_path)
    talk.history = [{"role": "user", "content": "tour"}]
    message = await talk.ask()
    rejected = {"type": "tool_result", "tool_use_id": message["content"][-1]["id"], "content": "stopped"}
    talk.history += [
        {"role": "assistant", "content": message["content"]},
        {"role": "user", "content": [rejected]},
        {"role": "user", "content": "[Request interrupted by user for tool use]"},
    ]
    assert "I am a script" in await talk.say("and now?")
    assert talk.calls == []


async def test_tour_continues_after_compaction(tmp_path: Path):
    (tmp_path / "handrail-tour").mkdir()
    talk = Talk(tmp_path)
    last = f"Tour {len(builtin_stops()) - 1} of {len(builtin_stops())}: and so on"
    talk.history = [{"role": "user", "content": f"Earlier:\n{SUMMARY}"}, {"role": "assistant", "content": last}]
    await talk.say("Go on.")
    assert [given["command"] for _, given, _, _ in talk.calls] == ["rm handrail-tour/notes.txt"]


async def test_summary_does_not_start_a_tour(tmp_path: Path):
    assert "I am a script" in await Talk(tmp_path).say(f"Earlier:\n{SUMMARY}\n\nAnd now?")


async def test_requested_summary_is_tagged(tmp_path: Path):
    said = await Talk(tmp_path).say(ASK_FOR_SUMMARY)
    assert said == f"<summary>{SUMMARY}</summary>"


async def test_summary_request_without_tools(tmp_path: Path):
    request = ModelRequest(DEMO_MODEL, [{"role": "user", "content": "Write a summary of all this."}])
    message = await builtin_model().whole(request)
    assert message["content"][0]["text"] == SUMMARY


async def test_subagent_reads_the_notes(tmp_path: Path):
    (tmp_path / "handrail-tour").mkdir()
    (tmp_path / "handrail-tour" / "notes.txt").write_text("x")
    talk = Talk(tmp_path)
    assert "is done" in await talk.say(SUBAGENT)
    assert [(name, failed) for name, _, _, failed in talk.calls] == [("Read", False)]


async def test_subagent_without_the_read_tool(tmp_path: Path):
    assert "without the Read tool" in await Talk(tmp_path, "Bash").say(SUBAGENT)


def test_built_in_script_is_free():
    assert cost({"input_tokens": 195_000, "output_tokens": 20}, DEMO_MODEL) == 0


def test_built_in_script_round_trips_through_json():
    script = builtin_script()
    assert Script.from_json(script.to_json()) == script
    assert len(msgspec.json.encode(script)) < 400_000
