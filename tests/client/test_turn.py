"""One turn from its prompt to its result: queued, merged, folded, cancelled, interrupted, or started by the CLI."""

import asyncio
import gc
import json
import weakref
from typing import Any

import pytest

from handrail import Disconnected, Options, Turn, TurnCancelled, TurnFailed
from handrail.schema.content import ToolUseBlock
from handrail.testing import ScriptedCli, exits, fold, hold, merges
from handrail.testing.scripted_lines import assistant_line, stream_line
from tests.client.conversation import joined

UNREADABLE_EVENT = {"type": "stream_event", "event": "not an object"}


async def kinds(turn: Turn) -> list[str]:
    return [f"{message.type}/{getattr(message, 'subtype', '')}".rstrip("/") async for message in turn]


async def test_a_turn_can_be_iterated_and_awaited_in_any_order():
    async with joined(ScriptedCli([["One"], ["Two"]])) as session:
        turn = await session.send("1")
        assert (await turn).text == "One"
        assert (await turn.wait()) is turn.result
        assert await kinds(turn) == [
            "command_lifecycle",
            "command_lifecycle",
            "system/init",
            "assistant",
            "result/success",
        ]
        turn = await session.send("2")
        assert (await kinds(turn))[-1] == "result/success"
        assert turn.result.text == "Two"
        assert turn.done


async def test_result_of_a_running_turn_is_an_error():
    cli = ScriptedCli([[hold("end")]])
    async with joined(cli) as session:
        turn = await session.send("1")
        assert turn.state == "sent"
        await cli.until(lambda: "end" in cli.held)
        with pytest.raises(RuntimeError, match="has not ended; iterate it to its end, or await it"):
            _ = turn.result
        assert not turn.done
        cli.release("end")
        await turn
        assert (turn.state, repr(turn)) == ("ended", f"<Turn {turn.uuid} ended>")


async def test_result_has_the_figures_of_its_turn():
    denial = {"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "ls"}}
    usage = {"input_tokens": 3, "output_tokens": 4}
    line = {
        "type": "result",
        "result": "Done",
        "usage": usage,
        "permission_denials": [denial],
        "structured_output": {"answer": 42},
        "terminal_reason": "completed",
    }
    cli = ScriptedCli([[line]])
    async with joined(cli) as session:
        result = await session.ask("Hi")
    assert (result.text, result.reason, result.is_error) == ("Done", "completed", False)
    assert result.structured_output == {"answer": 42}
    assert result.usage is not None
    assert result.usage.output_tokens == 4
    assert [(one.tool_name, one.tool_input) for one in result.permission_denials] == [("Bash", {"command": "ls"})]
    assert result.session_id == cli.session_id
    assert result.raise_for_error() is result


ERROR: dict[str, Any] = {"is_error": True, "result": None, "terminal_reason": ""}
FAILED: list[tuple[dict[str, Any], str, str]] = [
    ({"is_error": True, "result": "Overloaded", "terminal_reason": "api_error"}, "api_error", "Overloaded"),
    ({**ERROR, "subtype": "error_max_turns", "errors": ["Too many"]}, "error_max_turns", "Too many"),
    ({**ERROR, "subtype": "error", "error": "Old style"}, "error", "Old style"),
    ({**ERROR, "subtype": "error_during_execution"}, "error_during_execution", "no details"),
]


@pytest.mark.parametrize(("fields", "reason", "text"), FAILED)
async def test_failed_turn_has_a_reason(fields: dict[str, Any], reason: str, text: str):
    async with joined(ScriptedCli([[{"type": "result", **fields}]] * 2)) as session:
        result = await (await session.send("Hi"))
        assert result.is_error
        with pytest.raises(TurnFailed, match=text) as caught:
            result.raise_for_error()
        assert (caught.value.reason, caught.value.result) == (reason, result)
        with pytest.raises(TurnFailed, match=reason):
            await session.ask("Hi")


@pytest.mark.parametrize(
    "fields",
    [
        {"num_turns": "many"},
        {"total_cost_usd": 10**400},
        {"duration_ms": 10**400},
        {"modelUsage": {"a": {"inputTokens": 10**400}}},
        {"model_usage_since_last_result": {"a": {"costUSD": 10**400}}},
    ],
)
async def test_a_result_of_unknown_shape_ends_the_turn_with_an_error(fields: dict[str, Any]):
    async with joined(ScriptedCli([[{"type": "result", **fields}]])) as session:
        result = await (await session.send("Hi"))
    assert (result.is_error, result.text) == (True, "the CLI sent a result of unknown shape")


async def test_text_yields_whole_blocks():
    script = ["Hello ", assistant_line("not this", parent_tool_use_id="toolu_1"), {"type": "news"}, "world"]
    async with joined(ScriptedCli([script])) as session:
        turn = await session.send("Hi")
        assert [piece async for piece in turn.text()] == ["Hello ", "world"]


async def test_text_yields_deltas_with_partial_messages():
    inside = stream_line("not this", parent_tool_use_id="toolu_1")
    script = [stream_line("Hel"), inside, UNREADABLE_EVENT, stream_line(""), stream_line("lo"), "Hello"]
    async with joined(ScriptedCli([script]), Options(include_partial_messages=True)) as session:
        turn = await session.send("Hi")
        assert [piece async for piece in turn.text()] == ["Hel", "lo"]


async def test_text_that_was_not_streamed_is_yielded_as_a_block():
    script = [stream_line("Hello"), "Hello", stream_line(""), "Not streamed.", "Nor this."]
    async with joined(ScriptedCli([script]), Options(include_partial_messages=True)) as session:
        turn = await session.send("/cost")
        assert [piece async for piece in turn.text()] == ["Hello", "Not streamed.", "Nor this."]


async def test_messages_are_typed_and_unknown_ones_kept():
    tool = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}
    async with joined(ScriptedCli([[assistant_line(tool), {"type": "news", "headline": "x"}]])) as session:
        messages = [message async for message in await session.send("Hi")]
    block = messages[3].content[0]  # type: ignore[attr-defined]
    assert isinstance(block, ToolUseBlock)
    assert block.input == {"command": "ls"}
    assert b'"headline":"x"' in messages[4].raw


async def test_prompt_during_a_turn_has_its_own_turn():
    cli = ScriptedCli([["One", hold("end")], ["Two"]])
    async with joined(cli) as session:
        first = await session.send("1")
        await cli.until(lambda: "end" in cli.held)
        second = await session.send("2")
        await cli.until(lambda: len(cli.queue) == 1)
        assert session.running
        assert (first.state, second.state) == ("running", "sent")
        cli.release("end")
        assert ((await first).text, (await second).text) == ("One", "Two")
        assert not session.running
        types = await kinds(second)
    assert types == ["command_lifecycle", "command_lifecycle", "system/init", "assistant", "result/success"]


async def test_merged_prompts_share_result_and_messages():
    cli = ScriptedCli([[merges(2), "Both"]])
    async with joined(cli) as session:
        first, second = await session.send("1"), await session.send("2")
        assert (await first) is (await second)
        assert (await kinds(first))[-3:] == (await kinds(second))[-3:] == ["system/init", "assistant", "result/success"]


async def test_a_prompt_folded_into_the_running_turn_ends_with_it():
    cli = ScriptedCli([["One", fold(), "more"]])
    async with joined(cli) as session:
        first, second = await session.send("1"), await session.send("and this")
        assert (await first) is (await second)
        assert (await kinds(second))[-2:] == ["assistant", "result/success"]
        assert (await kinds(first)).count("assistant") == 2


async def test_turn_of_the_cli_has_no_prompt():
    cli = ScriptedCli([["One"]])
    async with joined(cli) as session:
        turns = session.turns()
        await cli.begin("The task has ended")
        own = await anext(turns)
        assert own.from_cli
        result = await own
        assert result.message.origin is not None
        assert (result.text, result.message.origin.kind) == ("The task has ended", "task-notification")
        asked = await session.send("1")
        assert (await asked).text == "One"
        assert not asked.from_cli


async def test_prompt_after_a_turn_of_the_cli_gets_its_own_result():
    cli = ScriptedCli([["One"]])
    async with joined(cli) as session, asyncio.TaskGroup() as group:
        group.create_task(cli.begin("By myself", hold("end")))
        await cli.until(lambda: "end" in cli.held)
        asked = await session.send("1")
        await cli.until(lambda: len(cli.queue) == 1)
        cli.release("end")
        assert (await asked).text == "One"


async def test_queued_prompt_can_be_cancelled():
    cli = ScriptedCli([[hold("end")], ["Never"]])
    async with joined(cli) as session:
        first, second = await session.send("1"), await session.send("2")
        await cli.until(lambda: "end" in cli.held and len(cli.queue) == 1)
        assert await second.cancel()
        with pytest.raises(TurnCancelled, match="cancelled before its turn began") as caught:
            await second
        assert (caught.value.uuid, second.state) == (second.uuid, "cancelled")
        with pytest.raises(TurnCancelled):
            async for _ in second:
                pass
        with pytest.raises(TurnCancelled):
            _ = second.result
        assert not await first.cancel()
        cli.release("end")
        await first


async def test_queued_prompt_can_be_cancelled_by_uuid():
    cli = ScriptedCli([[merges(2)], ["Two"]])
    async with joined(cli) as session:
        uuid = (await session.send("1")).uuid
        gc.collect()
        assert (await session.cancel_async_message(uuid)).cancelled
        cli.turns.popleft()
        assert (await session.ask("2")).text == "Two"


async def test_interrupt_ends_the_turn_and_lists_queued_prompts():
    cli = ScriptedCli([["One", hold("end")], ["Two"]])
    async with joined(cli) as session:
        first, second = await session.send("1"), await session.send("2")
        await cli.until(lambda: "end" in cli.held and len(cli.queue) == 1)
        assert (await session.interrupt()).still_queued == [second.uuid]
        result = await first
        assert (result.is_error, result.reason) == (True, "aborted_streaming")
        assert (await second).text == "Two"


async def test_interrupt_can_cancel_queued_prompts():
    cli = ScriptedCli([["One", hold("end")]])
    async with joined(cli) as session:
        first, second = await session.send("1"), await session.send("2")
        await cli.until(lambda: "end" in cli.held and len(cli.queue) == 1)
        assert (await session.interrupt(cancel_queued=True)).cancelled == [second.uuid]
        with pytest.raises(TurnCancelled):
            await second
        assert (await first).is_error


async def test_prompts_match_results_without_lifecycle():
    cli = ScriptedCli([["One"], ["Two"], ["Three"]], lifecycle=False)
    async with joined(cli) as session:
        turns = [await session.send(text) for text in ("1", "2", "3")]
        assert [(await turn).text for turn in turns] == ["One", "Two", "Three"]
        assert await kinds(turns[1]) == ["system/init", "assistant", "result/success"]


async def test_turn_may_consist_of_a_result_only():
    cli = ScriptedCli([[{"type": "result", "result": "One"}]], lifecycle=False)
    cli.turns[0].insert(0, {"type": "system", "subtype": "init"})  # type: ignore[attr-defined]
    async with joined(cli) as session:
        assert (await session.ask("1")).text == "One"


async def test_exit_during_a_turn_reaches_all_waiters():
    cli = ScriptedCli([["One", exits(3, "panic: out of cheese")]])
    async with joined(cli) as session:
        turn, queued = await session.send("1"), await session.send("2")
        seen: list[str] = []

        async def read() -> None:
            async for message in turn:
                seen.append(message.type)

        with pytest.raises(Disconnected, match="out of cheese") as caught:
            await read()
        assert seen[-1] == "assistant"
        assert (caught.value.exit_code, caught.value.stderr) == (3, "panic: out of cheese")
        for waiting in (turn, queued):
            with pytest.raises(Disconnected, match="the turn was cut short: .*exit code 3"):
                await waiting
            assert waiting.state == "lost"
        with pytest.raises(Disconnected, match="exit code 3"):
            await session.send("3")
        with pytest.raises(Disconnected, match="get_usage"):
            await session.get_usage()
        assert (await session.wait_closed()).code == 3


async def test_garbage_collected_turn_stops_collecting():
    cli = ScriptedCli([["One", hold("end")]])
    async with joined(cli) as session:
        turn = await session.send("1")
        await cli.until(lambda: "end" in cli.held)
        gone = weakref.ref(turn)
        del turn
        gc.collect()
        assert gone() is None
        cli.release("end")
        assert (await session.ask("2")).text == "Done."


async def test_awaited_turn_is_kept_until_its_result():
    async with joined(ScriptedCli([["One"]])) as session:
        assert (await (await session.send("1"))).text == "One"


async def test_concurrent_iteration_of_a_turn_is_an_error():
    cli = ScriptedCli([[hold("end")]])
    async with joined(cli) as session:
        turn = await session.send("1")
        await cli.until(lambda: "end" in cli.held)
        await session.rename_session("T")  # what came before its answer has been taken in
        while turn.inbox.queue:
            await anext(turn)
        async with asyncio.TaskGroup() as group:
            first = group.create_task(kinds(turn))
            await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="its own session.messages"):
                await anext(turn)
            cli.release("end")
            assert await first == ["result/success"]


async def test_turn_can_be_awaited_by_several_tasks():
    async with joined(ScriptedCli([["One"]])) as session:
        turn = await session.send("1")
        results = await asyncio.gather(turn.wait(), turn.wait(), turn.wait())
    assert [result.text for result in results] == ["One"] * 3


async def test_turn_can_be_read_after_the_session_closed():
    async with joined(ScriptedCli([["One"]])) as session:
        turn = await session.send("1")
        await turn
    assert (await kinds(turn))[-1] == "result/success"


async def test_queued_prompt_is_lost_when_the_session_closes():
    cli = ScriptedCli([[merges(2)]])
    async with joined(cli) as session:
        turn = await session.send("1")
        await cli.until(lambda: len(cli.queue) == 1)
    with pytest.raises(Disconnected, match="the turn was cut short"):
        await turn
    assert "interrupt" not in [request["subtype"] for request in cli.requests]


async def test_closing_interrupts_the_running_turn():
    cli = ScriptedCli([[hold("never")]])
    async with joined(cli) as session:
        turn = await session.send("1")
        await cli.until(lambda: "never" in cli.held)
        await session.rename_session("T")
    assert cli.requests[-1] == {"subtype": "interrupt"}
    assert turn.done


@pytest.mark.parametrize(
    ("older", "text"),
    [
        ({"subtype": "error_during_execution"}, ""),
        ({"subtype": "error", "error": "the disk is full"}, "the disk is full"),
        ({"subtype": "error_max_turns", "result": ""}, ""),
    ],
)
async def test_an_older_error_result_without_is_error_fails_the_turn(older: dict[str, Any], text: str):
    line = json.dumps({"type": "result", "session_id": "s", **older}).encode()
    async with joined(ScriptedCli([[line]])) as session:
        turn = await session.send("go")
        result = await turn
        assert (result.is_error, result.text) == (True, text)
        with pytest.raises(TurnFailed, match=older["subtype"]):
            result.raise_for_error()
