"""Lines with a parent_tool_use_id belong to a subagent: the main turn, the session's info and the cost ignore them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail import Session
from handrail.client.usage import UsageMeter
from handrail.schema.messages import AssistantMessage, read_message
from handrail.schema.result_message import ResultMessage
from handrail.testing import ScriptedCli
from handrail.testing.scripted_lines import COST, MODEL, assistant_line, init_line, result_line, stream_line
from tests.client.conversation import joined

PARENT = "toolu_subagent"


def of_subagent(line: dict[str, Any], **fields: Any) -> bytes:
    return json.dumps({**line, "parent_tool_use_id": PARENT, "session_id": "other", **fields}).encode()


NESTED_INIT = of_subagent(init_line(model="other-model", permissionMode="plan"))
NESTED_RESULT = of_subagent(result_line(90, result="subagent done"))
NESTED_COMMANDS = of_subagent({"type": "system", "subtype": "commands_changed", "commands": []})


def info(session: Session) -> tuple[str, str, str]:
    assert session.info is not None
    return session.id, session.info.model, session.info.permission_mode


@pytest.mark.parametrize("lifecycle", [True, False])
async def test_a_nested_result_does_not_end_the_turn(lifecycle: bool):
    cli = ScriptedCli([["before ", NESTED_RESULT, "after"]], lifecycle=lifecycle)
    async with joined(cli) as session:
        turn = await session.send("go")
        said = [message.text async for message in turn if isinstance(message, AssistantMessage)]
    assert (said, turn.result.text) == (["before ", "after"], "before after")


async def test_a_nested_result_is_not_counted():
    cli = ScriptedCli([["one", NESTED_RESULT], ["two"]])
    async with joined(cli) as session:
        first, second = await session.ask("go"), await session.ask("again")
        assert (first.cost_usd, second.cost_usd, session.meter.total_cost_usd) == (COST, COST, 2 * COST)


def test_the_meter_ignores_a_nested_result():
    meter = UsageMeter()
    view = read_message("result", "success", NESTED_RESULT)
    assert isinstance(view, ResultMessage)
    assert (meter.add(view).cost_usd, meter.total_cost_usd, meter.models) == (0.0, 0.0, {})


async def test_nested_system_lines_do_not_change_the_session():
    cli = ScriptedCli([["one", NESTED_INIT, NESTED_COMMANDS, NESTED_RESULT, "two"]])
    async with joined(cli) as session:
        commands = session.commands
        await session.ask("go")
        assert info(session) == (cli.session_id, MODEL, "default")
        assert session.commands == commands


@pytest.mark.parametrize("lifecycle", [True, False])
@pytest.mark.parametrize(
    "line",
    [
        NESTED_INIT,
        NESTED_RESULT,
        of_subagent(assistant_line("in the background")),
        of_subagent(stream_line("in the background")),
    ],
    ids=["init", "result", "assistant", "stream_event"],
)
async def test_nested_line_between_turns_begins_no_turn(line: bytes, lifecycle: bool):
    cli = ScriptedCli([["one"], ["two"]], lifecycle=lifecycle)
    async with joined(cli) as session:
        reader = session.messages()
        await session.ask("go")
        await cli.say(line)
        async for message in reader:
            if getattr(message, "parent_tool_use_id", None) or message.extra.get("parent_tool_use_id"):
                break
        assert not session.running
        result = await session.ask("again")
        assert (result.text, result.cost_usd, session.meter.total_cost_usd) == ("two", COST, 2 * COST)
        assert info(session) == (cli.session_id, MODEL, "default")


async def test_nested_result_of_unknown_shape_does_not_end_the_turn():
    broken = json.dumps({"type": "result", "subtype": 5, "parent_tool_use_id": PARENT, "usage": "much"}).encode()
    async with joined(ScriptedCli([[broken, "fine"]])) as session:
        assert (await session.ask("go")).text == "fine"


async def test_empty_list_of_pushed_commands_is_applied():
    pushed = {"type": "system", "subtype": "commands_changed", "commands": []}
    replies = {"initialize": {"commands": [{"name": "cost"}]}}
    async with joined(ScriptedCli([[pushed]], replies=replies)) as session:
        assert [command.name for command in session.commands] == ["cost"]
        await session.ask("go")
        assert session.commands == []
