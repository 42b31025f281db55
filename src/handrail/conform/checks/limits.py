"""Limits and shapes: turns, budget, structured output."""

from __future__ import annotations

import json

from handrail.agent.models.script import reply, text, tool_use
from handrail.conform.bench import Bench
from handrail.conform.check import check, expect, same
from handrail.conform.lines import of, tool_results

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"colour": {"type": "string"}},
        "required": ["colour"],
        "additionalProperties": False,
    }
)


@check("limit", "--max-turns ends the turn with error_max_turns after so many rounds; the session lives.")
async def max_turns(bench: Bench) -> None:
    bench.says(*(tool_use("Bash", command=f"echo {name}") for name in "ab"), text("Done."))
    agent = await bench.start("--max-turns", "2")
    result = (await agent.turn("go"))[-1]
    seen = (result.get("subtype"), result.get("is_error"), result.get("terminal_reason"), result.get("num_turns"))
    same("the result", seen, ("error_max_turns", True, "max_turns", 3))
    same("requests to the model", len(bench.model.main_requests), 2)
    same("the next result", (await agent.turn("and now?"))[-1].get("result"), "Done.")


@check("limit", "A result that is an error has a list of errors and no result text.")
async def errors_list(bench: Bench) -> None:
    bench.says(*(tool_use("Bash", command="echo x") for _ in range(3)))
    result = (await (await bench.start("--max-turns", "1")).turn("go"))[-1]
    expect(isinstance(result.get("errors"), list), f"errors is {result.get('errors')!r}")
    same("whether there is a result text", "result" in result, False)


@check("limit", "--max-budget-usd ends the turn with error_max_budget_usd, before the pending tool runs.")
async def budget(bench: Bench) -> None:
    bench.says(reply(tool_use("Bash", command="touch made.txt"), usage={"output_tokens": 50_000}), text("Done."))
    flags = ("--max-budget-usd", "0.01", "--allowedTools", "Bash(touch *)")
    result = (await (await bench.start(*flags)).turn("go"))[-1]
    same("the subtype", result.get("subtype"), "error_max_budget_usd")
    same("requests to the model", len(bench.model.main_requests), 1)
    expect(not (bench.lab.project / "made.txt").exists(), "the tool ran")


@check("structured", "With --json-schema the tool StructuredOutput is offered; a valid call is the result.")
async def valid(bench: Bench) -> None:
    bench.says(tool_use("StructuredOutput", colour="blue"), text("Done."))
    result = (await (await bench.start("--json-schema", SCHEMA)).turn("which colour?"))[-1]
    offered = [tool.get("name") for tool in bench.model.main_requests[0].body.get("tools", ())]
    expect("StructuredOutput" in offered, "the tool is not offered")
    same("structured_output", result.get("structured_output"), {"colour": "blue"})
    same("the subtype", result.get("subtype"), "success")


@check("structured", "A call that does not fit the schema is an error result, and the model may try again.")
async def invalid_then_valid(bench: Bench) -> None:
    bench.says(tool_use("StructuredOutput", shade=7), tool_use("StructuredOutput", colour="red"), text("Done."))
    lines = await (await bench.start("--json-schema", SCHEMA)).turn("which colour?")
    same("is_error of the results", [bool(block.get("is_error")) for block in tool_results(lines)][:1], [True])
    same("structured_output", lines[-1].get("structured_output"), {"colour": "red"})


@check("structured", "A model that never calls the tool ends as a plain success without structured_output.")
async def never(bench: Bench) -> None:
    bench.says(text("Blue."), afterwards=reply(text("Still blue.")))
    lines = await (await bench.start("--json-schema", SCHEMA)).turn("which colour?")
    same("the subtype", lines[-1].get("subtype"), "success")
    same("whether there is one", "structured_output" in lines[-1], False)
    expect(len(bench.model.main_requests) > 1, "the model was not reminded")
    expect(of(lines, "assistant"), "no text was told")
