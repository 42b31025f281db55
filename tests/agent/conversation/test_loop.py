from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.script import Script, cut, http_error, reply, stream_error, text, thinking, tool_use
from tests.agent.stage import assert_calls_are_answered, hooks_for, stage

AT_ONCE = {"retry-after": "0"}
SCHEMA = json.dumps({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})


def notes(host: Any) -> list[str]:
    return [line["message"]["content"][0]["text"] for line in host.of("user") if line.get("isSynthetic")]


async def test_temporary_errors_are_retried_and_reported(tmp_path: Path) -> None:
    script = Script.of(http_error(529, headers=AT_ONCE), http_error(500, headers=AT_ONCE), text("at last"))
    async with stage(tmp_path, script) as host:
        assert (await host.turn("go"))["result"] == "at last"
        retries = host.of("system", "api_retry")
        assert [(line["attempt"], line["error_status"]) for line in retries] == [(1, 529), (2, 500)]
        assert retries[0]["max_retries"] == 10


async def test_a_permanent_error_ends_the_turn_but_not_the_session(tmp_path: Path) -> None:
    script = Script.of(*[http_error(400, message="no such thing")] * 6, text("better"))
    async with stage(tmp_path, script) as host:
        result = await host.turn("go")
        assert (result["subtype"], result["is_error"]) == ("success", True)
        assert (result["api_error_status"], result["terminal_reason"]) == (400, "api_error")
        assert host.of("assistant")[0]["message"]["model"] == "<synthetic>"
        assert not host.of("system", "api_retry")
        assert (await host.turn("again"))["result"] == "better"


async def test_the_environment_limits_retries(tmp_path: Path) -> None:
    script = Script(replies=(http_error(500, headers=AT_ONCE, times=9),))
    async with stage(tmp_path, script, environment={"CLAUDE_CODE_MAX_RETRIES": "2"}) as host:
        assert (await host.turn("go"))["is_error"]
        assert len(host.model.asked) == 3


async def test_the_fallback_model_is_used_after_three_overloads(tmp_path: Path) -> None:
    script = Script(replies=(http_error(529, headers=AT_ONCE, times=3), reply(text("from the other"))))
    async with stage(tmp_path, script, "--fallback-model", "claude-haiku-4-5") as host:
        assert (await host.turn("go"))["result"] == "from the other"
        assert host.model.asked[-1]["model"] == "claude-haiku-4-5"
        assert host.of("system", "model_fallback")[0]["fallback_model"] == "claude-haiku-4-5"


async def test_repeated_fallback_model_is_tried_once(tmp_path: Path) -> None:
    script = Script(replies=(http_error(529, headers=AT_ONCE, times=20),))
    names = ("haiku", "sonnet", "haiku")
    environment = {"CLAUDE_CODE_MAX_RETRIES": "0"}
    async with stage(tmp_path, script, "--fallback-model", ",".join(names), environment=environment) as host:
        assert (await host.turn("go"))["is_error"]
        assert len(host.model.asked) == 3
        assert len({request["model"] for request in host.model.asked}) == 3


async def test_text_before_a_stream_error_is_discarded(tmp_path: Path) -> None:
    broken = reply(text("half a wo", unfinished=True), stream_error())
    async with stage(tmp_path, Script.of(broken, text("whole"))) as host:
        assert (await host.turn("go"))["result"] == "whole"
        assert [line["message"]["content"][0]["text"] for line in host.of("assistant")] == ["whole"]
        assert len(host.of("system", "api_retry")) == 1


async def test_complete_blocks_before_a_cut_are_kept(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(reply(text("one "), cut()), text("two"))) as host:
        assert (await host.turn("go"))["result"] == "two"
        assert "cut off" in notes(host)[0]
        assert host.model.asked[1]["messages"][1]["content"] == [{"type": "text", "text": "one "}]


async def test_thoughts_before_a_cut_are_discarded(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(reply(thinking("hm"), cut()), text("two"))) as host:
        result = await host.turn("go")
        assert (result["result"], result["num_turns"], notes(host)) == ("two", 1, [])
        assert host.model.asked[0]["messages"] == host.model.asked[1]["messages"]


async def test_an_answer_that_is_always_cut_ends_the_turn(tmp_path: Path) -> None:
    script = Script.of(afterwards=reply(text("one "), cut()))
    async with stage(tmp_path, script) as host:
        result = await host.turn("go")
        assert (result["stop_reason"], len(host.model.asked)) == (None, 4)


async def test_a_complete_call_before_a_cut_runs(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(reply(tool_use("Bash", command="echo hi"), cut()), text("done"))) as host:
        assert (await host.turn("go"))["result"] == "done"
        assert host.results_of_tools()[0]["content"] == "hi"
        told = host.of("assistant")[1]
        assert (told["error"], told["is_api_error_message"]) == ("server_error", True)


async def test_an_answer_at_the_token_limit_is_continued(tmp_path: Path) -> None:
    long = reply(text("one"), stop_reason="max_tokens")
    async with stage(tmp_path, Script.of(long, text("two"))) as host:
        assert (await host.turn("go"))["result"] == "two"
        assert "limit of its length" in notes(host)[0]


async def test_an_answer_always_at_the_token_limit_ends_the_turn(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(afterwards=reply(text("one"), stop_reason="max_tokens"))) as host:
        result = await host.turn("go")
        assert (result["is_error"], result["terminal_reason"]) == (True, "api_error")
        assert host.of("assistant")[-1]["error"] == "max_output_tokens"
        assert len(host.model.asked) == 4


async def test_an_announced_call_that_is_missing_is_asked_for_once(tmp_path: Path) -> None:
    script = Script.of(afterwards=reply(text("one"), stop_reason="tool_use"))
    async with stage(tmp_path, script) as host:
        result = await host.turn("go")
        assert (result["result"], result["num_turns"]) == ("one", 2)
        assert "tool call" in notes(host)[0]


async def test_the_result_shows_the_last_text_block(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(reply(text("one"), text("two")))) as host:
        assert (await host.turn("go"))["result"] == "two"


@pytest.mark.parametrize(("status", "message", "asked"), [(400, "bad", 6), (422, "bad", 2)])
async def test_an_invalid_request_is_repeated_silently(tmp_path: Path, status: int, message: str, asked: int) -> None:
    script = Script.of(*[http_error(status, "invalid_request_error", message)] * (asked - 1), text("fine"))
    async with stage(tmp_path, script) as host:
        assert (await host.turn("go"))["result"] == "fine"
        assert not host.of("system", "api_retry")
        assert len(host.model.asked) == asked


async def test_a_refusal_is_reported_and_continued_once(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(afterwards=reply(text("no"), stop_reason="refusal"))) as host:
        assert (await host.turn("go"))["stop_reason"] == "refusal"
        assert len(host.model.asked) == 2
        assert host.of("system", "informational")


async def test_the_budget_ends_the_turn_and_leaves_no_call_open(tmp_path: Path) -> None:
    script = Script.of(tool_use("Bash", command="touch x"), text("more"))
    async with stage(tmp_path, script, "--max-budget-usd", "0.0000001", "--model", "claude-sonnet-4-5") as host:
        result = await host.turn("go")
        assert (result["subtype"], result["terminal_reason"]) == ("error_max_budget_usd", "budget_exhausted")
        assert not (tmp_path / "project" / "x").exists()
        assert_calls_are_answered(host.engine.history.messages)
        again = await host.turn("again")
        assert (again["subtype"], again["num_turns"]) == ("error_max_budget_usd", 1)
        assert len(host.model.asked) == 1


async def test_a_subagent_stops_when_the_budget_is_used_up(tmp_path: Path) -> None:
    delegate = tool_use("Task", description="look", prompt="look", run_in_background=False)
    costly = reply(tool_use("Bash", command="touch x"), usage={"input_tokens": 1_000_000, "output_tokens": 1})
    script = Script.of(delegate, costly, text("done"))
    async with stage(tmp_path, script, "--max-budget-usd", "1", "--model", "claude-sonnet-4-5") as host:
        assert (await host.turn("go"))["subtype"] == "error_max_budget_usd"
        assert "budget" in str(host.results_of_tools()[-1]["content"])
        assert len(host.model.asked) == 3
        assert not (tmp_path / "project" / "x").exists()


async def test_max_turns_ends_the_turn_after_the_results(tmp_path: Path) -> None:
    script = Script.of(afterwards=reply(tool_use("Bash", command="echo hi")))
    async with stage(tmp_path, script, "--max-turns", "2") as host:
        result = await host.turn("go")
        assert (result["subtype"], len(host.model.asked)) == ("error_max_turns", 2)
        assert "(2)" in result["errors"][0]
        assert_calls_are_answered(host.engine.history.messages)


async def test_max_turns_ends_a_stop_hook_that_always_blocks(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(afterwards=reply(text("done"))), "--max-turns", "3") as host:
        host.answers["hook_callback"] = lambda request: {"decision": "block", "reason": "not yet"}
        await host.control("initialize", hooks=hooks_for("Stop"))
        result = await host.turn("go")
        assert (result["subtype"], len(host.model.asked)) == ("error_max_turns", 3)
        active = [request["input"]["stop_hook_active"] for request in host.requests("hook_callback")]
        assert active == [False, True, True]


@pytest.mark.parametrize(("cap", "asked"), [("", 9), ("2", 3), ("1", 2), ("many", 9), ("0", 20), ("-1", 20)])
async def test_a_stop_hook_that_always_blocks_is_overruled_at_the_cap(tmp_path: Path, cap: str, asked: int) -> None:
    variables = {"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": cap}
    script = Script.of(afterwards=reply(text("done")))
    async with stage(tmp_path, script, "--max-turns", "20", environment=variables) as host:
        host.answers["hook_callback"] = lambda request: {"decision": "block", "reason": "not yet"}
        await host.control("initialize", hooks=hooks_for("Stop"))
        result = await host.turn("go")
        assert len(host.model.asked) == asked
        assert result["subtype"] == ("success" if asked < 20 else "error_max_turns")
        warnings = [line["content"] for line in host.of("system", "informational")]
        assert ["CLAUDE_CODE_STOP_HOOK_BLOCK_CAP" in one for one in warnings] == ([True] if asked < 20 else [])


async def test_a_stop_hook_sends_the_model_back_to_work(tmp_path: Path) -> None:
    async with stage(tmp_path, Script.of(text("done"), text("really done"))) as host:
        answers = iter([{"decision": "block", "reason": "run the tests"}, {}])
        host.answers["hook_callback"] = lambda request: next(answers)
        await host.control("initialize", hooks=hooks_for("Stop"))
        assert (await host.turn("go"))["result"] == "really done"
        assert notes(host) == ["Stop hook feedback:\nrun the tests"]


async def test_a_structured_answer_is_retried_until_it_fits(tmp_path: Path) -> None:
    script = Script.of(tool_use("StructuredOutput", n="one"), tool_use("StructuredOutput", n=1))
    async with stage(tmp_path, script, "--json-schema", SCHEMA) as host:
        result = await host.turn("go")
        assert result["structured_output"] == {"n": 1}
        assert json.loads(result["result"]) == {"n": 1}


async def test_a_structured_answer_that_never_fits_ends_the_turn(tmp_path: Path) -> None:
    script = Script.of(afterwards=reply(tool_use("StructuredOutput", n="one")))
    async with stage(tmp_path, script, "--json-schema", SCHEMA) as host:
        result = await host.turn("go")
        assert result["subtype"] == "error_max_structured_output_retries"
        assert len(host.model.asked) == 5
        assert "structured_output" not in result


async def test_a_model_that_forgets_the_schema_is_reminded_once(tmp_path: Path) -> None:
    async with stage(
        tmp_path, Script.of(text("1"), tool_use("StructuredOutput", n=1)), "--json-schema", SCHEMA
    ) as host:
        assert (await host.turn("go"))["structured_output"] == {"n": 1}
        assert "StructuredOutput" in notes(host)[0]


@pytest.mark.parametrize("partial", [True, False])
async def test_stream_events_are_sent_only_on_request(tmp_path: Path, partial: bool) -> None:
    flags = ["--include-partial-messages"] if partial else []
    async with stage(tmp_path, Script.of(text("a b c")), *flags) as host:
        await host.turn("go")
        assert bool(host.of("stream_event")) is partial
