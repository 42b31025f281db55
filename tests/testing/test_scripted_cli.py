"""The scripted CLI, in memory and in a separate process."""

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from handrail import Allow, ControlRefused, Disconnected, Options, Session, StartFailed, Transport
from handrail.testing import ScriptedCli, asks, exits, hold, merges, together
from handrail.testing.scripted_cli import Refusal
from handrail.testing.scripted_lines import assistant_line, init_line, stream_line
from handrail.transport.process import ProcessTransport

PATIENCE = 30
BASH = asks("can_use_tool", tool_name="Bash", input={"command": "ls"}, tool_use_id="toolu_1")
READ = asks("can_use_tool", tool_name="Read", input={}, tool_use_id="toolu_2")

PROGRAM = """
import asyncio, json, sys
from handrail.testing.scripted_cli import ScriptedCli
from handrail.transport.stdio import StdioTransport

async def main():
    return await ScriptedCli(json.loads(sys.argv[1])).serve(StdioTransport())

sys.exit(asyncio.run(main()))
"""


def in_memory(turns: Sequence[Sequence[Any]]) -> Transport:
    return ScriptedCli(turns).transport


def in_a_process(turns: Sequence[Sequence[Any]]) -> Transport:
    return ProcessTransport([sys.executable, "-c", PROGRAM, json.dumps(turns)])


async def talk(transport: Transport, *prompts: str) -> list[list[dict[str, Any]]]:
    """Run a conversation and return the lines of each turn, without volatile fields."""
    heard: list[list[dict[str, Any]]] = []
    async with (
        asyncio.timeout(PATIENCE),
        Session(Options(can_use_tool=lambda _: Allow()), transport=transport) as session,
    ):
        for prompt in prompts:
            turn = await session.send(prompt, uuid=f"prompt {prompt}")
            heard.append([json.loads(message.raw) async for message in turn])
    return heard


CONVERSATIONS: list[list[list[Any]]] = [
    [["Hello"]],
    [[stream_line("Hel"), stream_line("lo"), "Hello"], ["And ", "again"]],
    [[BASH, "Done"], [together(BASH, READ), "Both"]],
    [[init_line(model="other"), {"type": "news"}, {"type": "result", "is_error": True, "result": "Overloaded"}]],
]


@pytest.mark.parametrize("turns", CONVERSATIONS)
async def test_conversation_is_the_same_in_memory_and_in_a_process(turns: list[list[Any]]):
    prompts = [str(number) for number, _ in enumerate(turns)]
    here, there = await talk(in_memory(turns), *prompts), await talk(in_a_process(turns), *prompts)
    assert [[_kind(line) for line in turn] for turn in here] == [[_kind(line) for line in turn] for turn in there]
    assert here[0] == there[0]


def _kind(line: dict[str, Any]) -> str:
    return f"{line['type']}/{line.get('state', line.get('subtype', ''))}"


@pytest.mark.parametrize("start", [in_memory, in_a_process])
async def test_turn_has_the_order_of_the_real_cli(start: Any):
    (turn,) = await talk(start([["Hello"]]), "Hi")
    assert [_kind(line) for line in turn] == [
        "command_lifecycle/queued",
        "command_lifecycle/started",
        "system/init",
        "assistant/",
        "result/success",
    ]
    assert turn[-1]["user_message_uuids"] == ["prompt Hi"]
    assert len({line["uuid"] for line in turn}) == 5


@pytest.mark.parametrize("start", [in_memory, in_a_process])
async def test_exit_has_code_and_stderr(start: Any):
    async with asyncio.timeout(PATIENCE), Session(transport=start([["One", exits(3, "panic")]])) as session:
        turn = await session.send("Hi")
        with pytest.raises(Disconnected, match="panic"):
            await turn
    assert session.ending is not None
    assert (session.ending.code, session.ending.stderr) == (3, "panic")


@pytest.mark.parametrize("start", [in_memory, in_a_process])
async def test_exit_code_follows_the_last_result(start: Any):
    failed = {"type": "result", "is_error": True, "result": "no"}
    async with asyncio.timeout(PATIENCE), Session(transport=start([[failed]])) as session:
        assert (await (await session.send("Hi"))).is_error
    assert session.ending is not None
    assert session.ending.code == 1


async def test_invalid_script_ends_the_cli_with_a_reason():
    cli = ScriptedCli([[hold("a") | {"name": []}]])
    async with asyncio.timeout(PATIENCE), Session(transport=cli.transport) as session:
        turn = await session.send("Hi")
        with pytest.raises(Disconnected, match="the script cannot be played: TypeError"):
            await turn
    assert cli.ending.code == 70


async def test_received_lines_are_recorded_in_order():
    cli = ScriptedCli([[BASH]])
    await talk(cli.transport, "Hi")
    assert [line["type"] for line in cli.heard] == ["control_request", "user", "control_response"]
    assert cli.requests == [{"subtype": "initialize"}]
    assert [prompt["message"]["content"] for prompt in cli.prompts] == ["Hi"]
    assert cli.answers == [{"behavior": "allow", "updatedInput": {"command": "ls"}, "toolUseID": "toolu_1"}]


async def test_control_requests_get_the_configured_replies():
    cli = ScriptedCli(replies={"a": {"x": 1}, "b": Refusal("no", "code"), "c": lambda body: {"got": body["n"]}})
    async with asyncio.timeout(PATIENCE), Session(transport=cli.transport) as session:
        assert await session.control("a") == {"x": 1}
        with pytest.raises(ControlRefused, match=r"b: no \[code\]"):
            await session.control("b")
        assert await session.control("c", n=5) == {"got": 5}
        with pytest.raises(ControlRefused, match="Unsupported"):
            await session.control("d")
        cli.reply("d", {"now": True})
        assert await session.control("d") == {"now": True}


async def test_lines_and_requests_outside_a_turn():
    cli = ScriptedCli()
    async with asyncio.timeout(PATIENCE), Session(transport=cli.transport) as session:
        messages = session.messages()
        await cli.say({"type": "system", "subtype": "status"}, assistant_line("by the way"))
        assert [(await anext(messages)).type for _ in range(2)] == ["system", "assistant"]
        refused = await cli.ask("of_tomorrow")
        assert isinstance(refused, ControlRefused)


async def test_merged_turn_waits_for_all_prompts():
    cli = ScriptedCli([[merges(3), "All"]])
    async with asyncio.timeout(PATIENCE), Session(transport=cli.transport) as session:
        turns = [await session.send(text, uuid=text) for text in "abc"]
        assert [(await turn).text for turn in turns] == ["All"] * 3
        assert (await turns[0]).message.user_message_uuids == ["a", "b", "c"]


async def test_figures_of_results_are_totals():
    cli = ScriptedCli()
    turns = await talk(cli.transport, "1", "2")
    assert [turn[-1]["total_cost_usd"] for turn in turns] == [0.25, 0.5]


async def test_a_cli_without_a_script_still_answers():
    assert (await talk(ScriptedCli().transport, "Hi"))[0][-1]["result"] == "Done."


async def test_unstartable_process_is_start_failed(tmp_path: Path):
    with pytest.raises(StartFailed):
        await Session(transport=ProcessTransport([str(tmp_path / "missing")])).start()
