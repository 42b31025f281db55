"""Interrupts: while idle, while the model streams, while a tool runs; the queue and the session afterwards."""

from __future__ import annotations

import asyncio

from handrail.agent.models.script import hang, text, tool_use
from handrail.conform.agent_process import Answers
from handrail.conform.bench import Bench
from handrail.conform.check import check, expect, expect_equal
from handrail.conform.lines import kinds, nested, of_type, text_of, tool_results

ALLOW: Answers = {"can_use_tool": lambda _: {"behavior": "allow"}}


@check("interrupt", "An interrupt while idle is acknowledged with an empty queue and has no other output.")
async def while_idle(bench: Bench) -> None:
    agent = await bench.start()
    await agent.request("initialize")
    before = len(agent.lines)
    answer = await agent.request("interrupt")
    expect_equal("still_queued", nested(answer, "response").get("still_queued"), [])
    expect_equal("exit code", await agent.end(), 0)
    expect_equal("other lines", kinds(agent.lines[before + 1 :]), "nothing")


@check(
    "interrupt",
    "An interrupt while the model streams is acknowledged first; then the turn ends with aborted_streaming.",
)
async def while_streaming(bench: Bench) -> None:
    bench.says([text("The beginning", unfinished=True), hang()])
    agent = await bench.start()
    await agent.prompt("go")
    await bench.model.hanging()
    await agent.request("interrupt")
    result = await agent.result()
    seen = (result.get("subtype"), result.get("terminal_reason"), result.get("is_error"), "result" in result)
    expect_equal("result", seen, ("error_during_execution", "aborted_streaming", True, False))
    expect("[Request interrupted by user]" in text_of(agent.lines, "user"), "no user line reports the interrupt")
    order = [line["type"] for line in agent.lines if line["type"] in ("control_response", "result")]
    expect_equal("order", order, ["control_response", "result"])


@check("interrupt", "An interrupt closes the request to the model.")
async def closes_the_model_request(bench: Bench) -> None:
    bench.says([text("The beginning"), hang()])
    agent = await bench.start()
    await agent.prompt("go")
    await bench.model.hanging()
    await agent.request("interrupt")
    agent.waiting_for = "the request to the model to be dropped"
    await bench.model.dropped()


@check(
    "interrupt",
    "An interrupt while a tool runs kills the tool, gives it an error result, and ends the turn with aborted_tools.",
)
async def while_a_tool_runs(bench: Bench) -> None:
    bench.says(tool_use("Bash", command="touch started; tail -f /dev/null; touch finished", timeout=60000))
    agent = await bench.start(answers=ALLOW)
    await agent.prompt("go")
    agent.waiting_for = "the tool to start"
    while not (bench.lab.project / "started").exists():
        await _polling_pause()
    await agent.request("interrupt")
    result = await agent.result()
    expect_equal("terminal_reason", result.get("terminal_reason"), "aborted_tools")
    expect_equal("is_error", [block.get("is_error") for block in tool_results(agent.lines)], [True])
    expect(
        "[Request interrupted by user for tool use]" in text_of(agent.lines, "user"),
        "no user line reports the interrupt",
    )
    expect(not (bench.lab.project / "finished").exists(), "the command kept running")


@check("interrupt", "After an interrupt the session accepts the next prompt.")
async def session_continues(bench: Bench) -> None:
    bench.says([text("The beginning", unfinished=True), hang()], text("Still here."))
    agent = await bench.start()
    await agent.prompt("go")
    await bench.model.hanging()
    await agent.request("interrupt")
    await agent.result()
    lines = await agent.turn("are you there?")
    expect_equal("result", (lines[-1].get("is_error"), lines[-1].get("result")), (False, "Still here."))
    expect_equal("exit code", await agent.end(), 0)


@check("interrupt", "Queued prompts survive an interrupt: they are listed in still_queued and run next.")
async def keeps_the_queue(bench: Bench) -> None:
    mark = "7a1f5c1e-0000-4000-8000-0000000000aa"
    bench.says([text("The beginning", unfinished=True), hang()], text("The second."))
    agent = await bench.start()
    await agent.prompt("first")
    await bench.model.hanging()
    await agent.prompt("second", uuid=mark)
    await agent.wait_for(
        "queued", lambda line: line.get("type") == "command_lifecycle" and line.get("state") == "queued"
    )
    answer = await agent.request("interrupt")
    expect_equal("still_queued", nested(answer, "response").get("still_queued"), [mark])
    expect_equal("first terminal_reason", (await agent.result()).get("terminal_reason"), "aborted_streaming")
    expect_equal("second result", (await agent.result()).get("result"), "The second.")
    expect_equal("results", len(of_type(agent.lines, "result")), 2)


async def _polling_pause() -> None:
    """Wait before looking again for the file that shows that the command has started."""
    await asyncio.sleep(0.02)
