"""The usage of each turn, computed from running totals."""

from typing import Any

import pytest

from handrail import Options, TurnUsage
from handrail.client.usage import UsageMeter
from handrail.protocol import encode_message
from handrail.schema.messages import read_message
from handrail.schema.result_message import ResultMessage
from handrail.schema.usage import ModelUsage
from handrail.testing import ScriptedCli
from handrail.testing.scripted_lines import COST, MODEL, assistant_line, init_line
from tests.client.conversation import joined


def used(tokens: int, cost: float, **more: int) -> dict[str, Any]:
    return {"inputTokens": tokens, "outputTokens": tokens, "costUSD": cost, **more}


def result(total: float, models: dict[str, Any] | None = None, since: dict[str, Any] | None = None) -> ResultMessage:
    line: dict[str, Any] = {"type": "result", "subtype": "success", "total_cost_usd": total, "modelUsage": models or {}}
    if since is not None:
        line["model_usage_since_last_result"] = since
    view = read_message("result", "success", encode_message(line).raw)
    assert isinstance(view, ResultMessage)
    return view


def test_usage_of_a_turn_is_the_difference_of_totals():
    meter = UsageMeter()
    first = meter.add(result(0.5, {"a": used(10, 0.5, cacheReadInputTokens=7)}))
    second = meter.add(result(2.0, {"a": used(30, 1.5, cacheReadInputTokens=9), "b": used(1, 0.5)}))
    assert first.cost_usd == 0.5
    assert (first.input_tokens, first.output_tokens) == (17, 10)
    assert second.cost_usd == 1.5
    assert second.models == {
        "a": ModelUsage(input_tokens=20, output_tokens=20, cache_read_input_tokens=2, cost_usd=1.0),
        "b": ModelUsage(input_tokens=1, output_tokens=1, cost_usd=0.5),
    }
    assert (meter.total_cost_usd, set(meter.models)) == (2.0, {"a", "b"})


def test_usage_reported_for_the_turn_is_preferred():
    meter = UsageMeter(resumed=True)
    share = meter.add(result(9.0, {"a": used(900, 9.0)}, since={"a": used(10, 0.25), "b": used(5, 0.5)}))
    assert share.cost_usd == 0.75
    assert set(share.models) == {"a", "b"}
    assert meter.total_cost_usd == 9.0


def test_clear_resets_the_totals():
    meter = UsageMeter()
    meter.add(result(2.0, {"a": used(20, 2.0)}))
    meter.reset()
    assert meter.total_cost_usd == 0.0
    assert meter.add(result(0.5, {"a": used(5, 0.5)})).cost_usd == 0.5


def test_decreased_total_means_a_reset():
    meter = UsageMeter()
    meter.add(result(2.0, {"a": used(20, 2.0)}))
    share = meter.add(result(0.5, {"a": used(5, 0.5)}))
    assert (share.cost_usd, share.output_tokens) == (0.5, 5)


def test_first_total_of_a_resumed_session_is_not_counted():
    meter = UsageMeter(resumed=True)
    assert meter.add(result(5.0, {"a": used(50, 5.0)})) == TurnUsage()
    assert meter.add(result(5.5, {"a": used(55, 5.5)})).cost_usd == 0.5


def test_turn_without_figures_counts_as_zero():
    share = UsageMeter().add(result(0))
    assert (share.cost_usd, share.input_tokens, share.output_tokens) == (0.0, 0, 0)


@pytest.mark.parametrize("raw", [b'{"type":"assistant"}', b"[]", b'{"type":"assistant","message":{"usage":5}}'])
def test_a_message_without_usage_changes_nothing(raw: bytes):
    meter = UsageMeter()
    meter.see(raw)
    assert meter.context_tokens == 0


def test_context_size_comes_from_the_last_main_message():
    meter = UsageMeter()
    meter.see(encode_message(assistant_line("a")).raw)
    meter.see(encode_message(assistant_line("b", parent_tool_use_id="toolu_1", agent_id="x")).raw)
    assert meter.context_tokens == 10 + 100 + 1


async def test_session_reports_cost_per_turn():
    async with joined(ScriptedCli()) as session:
        results = [await session.ask("1"), await session.ask("2")]
        assert session.meter.total_cost_usd == 2 * COST
    assert [one.cost_usd for one in results] == [COST, COST]
    assert [one.message.total_cost_usd for one in results] == [COST, 2 * COST]
    assert [one.used.models[MODEL].input_tokens for one in results] == [10, 10]
    assert results[0].used.input_tokens == 111
    assert (results[0].context_tokens, results[0].context_window) == (111, 200_000)


async def test_clear_in_a_session_resets_cost_context_and_id():
    cleared = "00000000-0000-4000-8000-000000000002"
    clear = [
        {"type": "conversation_reset", "new_conversation_id": cleared},
        init_line(session_id=cleared),
        {"type": "result", "total_cost_usd": 0, "modelUsage": {}, "num_turns": 0, "session_id": cleared},
    ]
    again = ["Hi again", {"type": "result", "result": "Hi again", "total_cost_usd": 0.125, "modelUsage": {}}]
    cli = ScriptedCli([["Hi"], clear, again])
    async with joined(cli) as session:
        before = (await session.ask("Hi"), session.id)
        reset = (await session.ask("/clear"), session.id)
        after = await session.ask("Hi")
    assert before[1] == cli.session_id
    assert (reset[0].cost_usd, reset[0].context_tokens, reset[0].session_id) == (0.0, 0, cleared)
    assert reset[1] == cleared
    assert after.cost_usd == 0.125


async def test_resumed_session_does_not_charge_earlier_turns():
    past = {"type": "result", "result": "a", "total_cost_usd": 7.0, "modelUsage": {MODEL: used(700, 7.0)}}
    now = {"type": "result", "result": "b", "total_cost_usd": 7.5, "modelUsage": {MODEL: used(750, 7.5)}}
    async with joined(ScriptedCli([[past], [now]]), Options(resume="r")) as session:
        assert session.id == "r"
        first, second = await session.ask("1"), await session.ask("2")
    assert (first.cost_usd, second.cost_usd, second.used.output_tokens) == (0.0, 0.5, 50)
