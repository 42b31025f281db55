"""Limits on turns and cost; structured output."""

from __future__ import annotations

import json

from handrail.agent.models.script import reply, text, tool_use
from handrail.conform.bench import Bench
from handrail.conform.check import check, expect, expect_equal
from handrail.conform.lines import of_type, tool_results

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"colour": {"type": "string"}},
        "required": ["colour"],
        "additionalProperties": False,
    }
)


@check("limit", "--max-turns ends the turn with error_max_turns after that many model requests; the session continues.")
async def max_turns(bench: Bench) -> None:
    bench.says(*(tool_use("Bash", command=f"echo {name}") for name in "ab"), text("Done."))
    agent = await bench.start("--max-turns", "2")
    result = (await agent.turn("go"))[-1]
    seen = (result.get("subtype"), result.get("is_error"), result.get("terminal_reason"), result.get("num_turns"))
    expect_equal("result", seen, ("error_max_turns", True, "max_turns", 3))
    expect_equal("requests to the model", len(bench.model.main_requests), 2)
    expect_equal("next result", (await agent.turn("and now?"))[-1].get("result"), "Done.")


@check("limit", "A result that reports a limit has a list of errors and no result text.")
async def errors_list(bench: Bench) -> None:
    bench.says(*(tool_use("Bash", command="echo x") for _ in range(3)))
    result = (await (await bench.start("--max-turns", "1")).turn("go"))[-1]
    expect(isinstance(result.get("errors"), list), f"errors: {result.get('errors')!r}")
    expect_equal("result text present", "result" in result, False)


@check("limit", "--max-budget-usd ends the turn with error_max_budget_usd before the pending tool runs.")
async def budget(bench: Bench) -> None:
    bench.says(reply(tool_use("Bash", command="touch made.txt"), usage={"output_tokens": 50_000}), text("Done."))
    flags = ("--max-budget-usd", "0.01", "--allowedTools", "Bash(touch *)")
    result = (await (await bench.start(*flags)).turn("go"))[-1]
    expect_equal("subtype", result.get("subtype"), "error_max_budget_usd")
    expect_equal("requests to the model", len(bench.model.main_requests), 1)
    expect(not (bench.lab.project / "made.txt").exists(), "the tool ran")


@check(
    "structured",
    "With --json-schema the model is offered StructuredOutput, and a valid call becomes structured_output.",
)
async def valid(bench: Bench) -> None:
    bench.says(tool_use("StructuredOutput", colour="blue"), text("Done."))
    result = (await (await bench.start("--json-schema", SCHEMA)).turn("which colour?"))[-1]
    offered = [tool.get("name") for tool in bench.model.main_requests[0].body.get("tools", ())]
    expect("StructuredOutput" in offered, "StructuredOutput is not offered")
    expect_equal("structured_output", result.get("structured_output"), {"colour": "blue"})
    expect_equal("subtype", result.get("subtype"), "success")


@check("structured", "A call that violates the schema gets an error result, and the model may retry.")
async def invalid_then_valid(bench: Bench) -> None:
    bench.says(tool_use("StructuredOutput", shade=7), tool_use("StructuredOutput", colour="red"), text("Done."))
    lines = await (await bench.start("--json-schema", SCHEMA)).turn("which colour?")
    expect_equal(
        "is_error of the tool results", [bool(block.get("is_error")) for block in tool_results(lines)][:1], [True]
    )
    expect_equal("structured_output", lines[-1].get("structured_output"), {"colour": "red"})


@check("structured", "If the model never calls StructuredOutput, the result is a success without structured_output.")
async def not_called(bench: Bench) -> None:
    bench.says(text("Blue."), afterwards=reply(text("Still blue.")))
    lines = await (await bench.start("--json-schema", SCHEMA)).turn("which colour?")
    expect_equal("subtype", lines[-1].get("subtype"), "success")
    expect_equal("structured_output present", "structured_output" in lines[-1], False)
    expect(len(bench.model.main_requests) > 1, "the model got no reminder to call the tool")
    expect(of_type(lines, "assistant"), "there is no assistant line")
