"""Interrupts: at rest, while the model speaks, while a tool runs; what the agent tells, and that it lives on."""

from __future__ import annotations

import asyncio

from handrail.agent.models.script import hang, text, tool_use
from handrail.conform.bench import Bench
from handrail.conform.check import check, expect, same
from handrail.conform.lines import inside, kinds, of, told, tool_results
from handrail.conform.talk import Answers

ALLOW: Answers = {"can_use_tool": lambda _: {"behavior": "allow"}}


@check("interrupt", "At rest an interrupt is acknowledged, nothing is queued, and nothing else is told.")
async def at_rest(bench: Bench) -> None:
    agent = await bench.start()
    await agent.request("initialize")
    before = len(agent.lines)
    answer = await agent.request("interrupt")
    same("still_queued", inside(answer, "response").get("still_queued"), [])
    same("the exit code", await agent.end(), 0)
    same("other lines", kinds(agent.lines[before + 1 :]), "nothing")


@check("interrupt", "While the model speaks: acknowledged first, then error_during_execution, aborted_streaming.")
async def while_the_model_speaks(bench: Bench) -> None:
    bench.says([text("The beginning", unfinished=True), hang()])
    agent = await bench.start()
    await agent.prompt("go")
    await bench.model.hanging()
    await agent.request("interrupt")
    result = await agent.result()
    seen = (result.get("subtype"), result.get("terminal_reason"), result.get("is_error"), "result" in result)
    same("the result", seen, ("error_during_execution", "aborted_streaming", True, False))
    expect("[Request interrupted by user]" in told(agent.lines, "user"), "no user line tells of it")
    order = [line["type"] for line in agent.lines if line["type"] in ("control_response", "result")]
    same("the order", order, ["control_response", "result"])


@check("interrupt", "The request to the model is dropped when it is interrupted.")
async def drops_the_request(bench: Bench) -> None:
    bench.says([text("The beginning"), hang()])
    agent = await bench.start()
    await agent.prompt("go")
    await bench.model.hanging()
    await agent.request("interrupt")
    agent.waits_for = "the request to the model to be dropped"
    await bench.model.dropped()


@check("interrupt", "While a tool runs: its process ends, it gets an error result, then aborted_tools.")
async def while_a_tool_runs(bench: Bench) -> None:
    bench.says(tool_use("Bash", command="touch started; tail -f /dev/null; touch finished", timeout=60000))
    agent = await bench.start(answers=ALLOW)
    await agent.prompt("go")
    agent.waits_for = "the tool to start"
    while not (bench.lab.project / "started").exists():
        await _a_moment()
    await agent.request("interrupt")
    result = await agent.result()
    same("the reason", result.get("terminal_reason"), "aborted_tools")
    same("is_error", [block.get("is_error") for block in tool_results(agent.lines)], [True])
    expect("[Request interrupted by user for tool use]" in told(agent.lines, "user"), "no user line tells of it")
    expect(not (bench.lab.project / "finished").exists(), "the command went on")


@check("interrupt", "After an interrupt the session takes the next prompt and knows what was said.")
async def lives_on(bench: Bench) -> None:
    bench.says([text("The beginning", unfinished=True), hang()], text("Still here."))
    agent = await bench.start()
    await agent.prompt("go")
    await bench.model.hanging()
    await agent.request("interrupt")
    await agent.result()
    lines = await agent.turn("are you there?")
    same("the result", (lines[-1].get("is_error"), lines[-1].get("result")), (False, "Still here."))
    same("the exit code", await agent.end(), 0)


@check("interrupt", "What is queued survives an interrupt: named in still_queued, and run next.")
async def spares_the_queue(bench: Bench) -> None:
    mark = "7a1f5c1e-0000-4000-8000-0000000000aa"
    bench.says([text("The beginning", unfinished=True), hang()], text("The second."))
    agent = await bench.start()
    await agent.prompt("first")
    await bench.model.hanging()
    await agent.prompt("second", uuid=mark)
    await agent.until("queued", lambda line: line.get("type") == "command_lifecycle" and line.get("state") == "queued")
    answer = await agent.request("interrupt")
    same("still_queued", inside(answer, "response").get("still_queued"), [mark])
    same("the first reason", (await agent.result()).get("terminal_reason"), "aborted_streaming")
    same("the second result", (await agent.result()).get("result"), "The second.")
    same("results", len(of(agent.lines, "result")), 2)


async def _a_moment() -> None:
    """A file is all there is to see of a command that runs."""
    await asyncio.sleep(0.02)
