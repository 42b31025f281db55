"""handrail.agent.models.builtin_script: it says what it is, and its tour really runs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.agent.compaction import ASK_FOR_SUMMARY
from handrail.agent.desk import Desk
from handrail.agent.models.base import ModelError, ModelRequest
from handrail.agent.models.builtin_script import (
    SCRIPT_MODEL,
    SUBAGENT,
    SUMMARY,
    builtin_model,
    builtin_script,
    builtin_stops,
)
from handrail.agent.models.prices import cost, facts_of
from handrail.agent.models.script import Script
from handrail.agent.models.scripted import ScriptedModel
from handrail.agent.tools.base import ToolFailed
from handrail.agent.tools.registry import all_tools

RUN = "Bash Read Write Edit Glob Grep NotebookEdit TodoWrite TaskCreate TaskUpdate TaskGet TaskList".split()
"""The tools that are run here; the others need a host, and are answered for it."""
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
    known = all_tools()
    return [{"name": name, "input_schema": known[name].schema() if name in known else MCP} for name in names]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class Talk:
    """A conversation in a folder: the smallest loop that runs the calls a model makes."""

    def __init__(self, folder: Path, *tools: str, model: ScriptedModel | None = None) -> None:
        self.model = model or builtin_model(label="test")
        self.desk = Desk(str(folder))
        self.tools = definitions(*(tools or (*RUN, *OTHERS)))
        self.history: list[dict[str, Any]] = []
        self.calls: list[tuple[str, dict[str, Any], str, bool]] = []
        self.errors: list[ModelError] = []
        self.usage: list[dict[str, Any]] = []

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
        request = ModelRequest(SCRIPT_MODEL, self.history, tools=self.tools)
        try:
            return await self.model.whole(request)
        except ModelError as error:
            self.errors.append(error)
            return await self.model.whole(request)

    async def result(self, call: dict[str, Any], *, denied: bool) -> dict[str, Any]:
        content, failed = ("No.", True) if denied else await self.run(call["name"], call["input"])
        self.calls.append((call["name"], call["input"], str(content), failed))
        return {"type": "tool_result", "tool_use_id": call["id"], "content": content, "is_error": failed}

    async def run(self, name: str, given: dict[str, Any]) -> tuple[Any, bool]:
        tool = all_tools().get(name)
        checked = tool.read(given) if tool else None
        if name in OTHERS or not tool:
            return OTHERS[name], False
        try:
            outcome = await tool.run(checked, self.desk)
        except ToolFailed as failure:
            return str(failure), True
        return outcome.content, outcome.is_error


@pytest.mark.parametrize("prompt", ["hi", "Write me a poem.", "what is a detour?", "a contour", ""])
async def test_whatever_is_asked_it_says_that_it_is_a_script(tmp_path: Path, prompt: str):
    said = await Talk(tmp_path).say(prompt)
    assert "scripted model" in said
    assert "no AI" in said
    assert "`tour`" in said


async def test_the_tour_runs_every_tool_and_leaves_nothing_behind(tmp_path: Path):
    talk = Talk(tmp_path)
    async with asyncio.timeout(60):
        end = await talk.say("Give me the tour, please!")
    assert "really run" in end
    assert {name for name, *_ in talk.calls} == {*RUN, *OTHERS}
    failed = [(name, content) for name, _, content, failed in talk.calls if failed]
    assert len(failed) == 1, failed
    assert failed[0][0] == "Read"
    assert names_in(tmp_path) == []


async def test_the_tour_shows_thinking_an_image_a_repeated_request_and_a_full_window(tmp_path: Path):
    talk = Talk(tmp_path)
    async with asyncio.timeout(60):
        await talk.say("tour")
    assert talk.history[1]["content"][0]["type"] == "thinking"
    assert any("image" in content and "base64" in content for name, _, content, _ in talk.calls if name == "Read")
    assert [error.status for error in talk.errors] == [529]
    full = max(usage["input_tokens"] for usage in talk.usage)
    assert facts_of(SCRIPT_MODEL).context_window * 0.95 < full < facts_of(SCRIPT_MODEL).context_window


async def test_what_is_not_there_is_passed_by(tmp_path: Path):
    talk = Talk(tmp_path, "Bash", "Read")
    async with asyncio.timeout(60):
        end = await talk.say("tour")
    assert "really run" in end
    assert {name for name, *_ in talk.calls} == {"Bash", "Read"}


async def test_a_folder_of_that_name_is_left_alone(tmp_path: Path):
    (tmp_path / "handrail-tour").mkdir()
    (tmp_path / "handrail-tour" / "mine.txt").write_text("mine")
    talk = Talk(tmp_path)
    end = await talk.say("tour")
    assert "leave it alone" in end
    assert len(talk.calls) == 1
    assert (tmp_path / "handrail-tour" / "mine.txt").read_text() == "mine"


async def test_who_does_not_permit_the_folder_has_no_tour(tmp_path: Path):
    assert "ends here" in await Talk(tmp_path).say("tour", denied=True)
    assert names_in(tmp_path) == []


async def test_after_an_interruption_the_tour_does_not_go_on_by_itself(tmp_path: Path):
    talk = Talk(tmp_path)
    talk.history = [{"role": "user", "content": "tour"}]
    message = await talk.ask()
    rejected = {"type": "tool_result", "tool_use_id": message["content"][-1]["id"], "content": "stopped"}
    talk.history += [
        {"role": "assistant", "content": message["content"]},
        {"role": "user", "content": [rejected]},
        {"role": "user", "content": "[Request interrupted by user for tool use]"},
    ]
    assert "scripted model" in await talk.say("and now?")
    assert talk.calls == []


async def test_after_compaction_the_tour_goes_on_where_it_was(tmp_path: Path):
    (tmp_path / "handrail-tour").mkdir()
    talk = Talk(tmp_path)
    last = f"Tour {len(builtin_stops()) - 1} of {len(builtin_stops())}: and so on"
    talk.history = [{"role": "user", "content": f"Earlier:\n{SUMMARY}"}, {"role": "assistant", "content": last}]
    await talk.say("Go on.")
    assert [given["command"] for _, given, _, _ in talk.calls] == ["rm -r handrail-tour"]


async def test_a_summary_of_something_else_begins_no_tour(tmp_path: Path):
    assert "scripted model" in await Talk(tmp_path).say(f"Earlier:\n{SUMMARY}\n\nAnd now?")


async def test_the_summary_that_the_agent_asks_for_has_its_tags(tmp_path: Path):
    said = await Talk(tmp_path).say(ASK_FOR_SUMMARY)
    assert said == f"<summary>{SUMMARY}</summary>"


async def test_a_summary_without_tools_is_the_one_that_the_tour_knows(tmp_path: Path):
    request = ModelRequest(SCRIPT_MODEL, [{"role": "user", "content": "Write a summary of all this."}])
    message = await builtin_model().whole(request)
    assert message["content"][0]["text"] == SUMMARY


async def test_the_subagent_reads_and_ends(tmp_path: Path):
    (tmp_path / "handrail-tour").mkdir()
    (tmp_path / "handrail-tour" / "notes.txt").write_text("x")
    talk = Talk(tmp_path)
    assert "is done" in await talk.say(SUBAGENT)
    assert [(name, failed) for name, _, _, failed in talk.calls] == [("Read", False)]


async def test_the_subagent_ends_also_without_a_tool_to_read_with(tmp_path: Path):
    assert "no tool" in await Talk(tmp_path, "Bash").say(SUBAGENT)


def test_what_it_says_costs_nothing():
    assert cost({"input_tokens": 195_000, "output_tokens": 20}, SCRIPT_MODEL) == 0


def test_it_is_a_script_like_any_other():
    script = builtin_script()
    assert Script.from_json(script.to_json()) == script
    assert len(msgspec.json.encode(script)) < 400_000
