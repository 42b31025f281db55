"""Subagents in the foreground and in the background."""

from __future__ import annotations

from handrail.agent.models.script import ToolUse, When, reply, text, tool_use
from handrail.conform.bench import Bench
from handrail.conform.check import check, expect, expect_equal
from handrail.conform.lines import blocks, nested, of_type, tool_results

TASK = "Count the stars and say how many."
DONE = "Seven stars."


def _model(bench: Bench, *, background: bool) -> None:
    """Script a main thread that starts a subagent, and the subagent's replies."""
    task = {"description": "count", "prompt": TASK, "subagent_type": "general-purpose", "run_in_background": background}
    bench.says(
        reply(tool_use("Bash", command="echo counting"), when=When(prompt=TASK), times=1),
        reply(text(DONE), when=When(tool_result="counting")),
        reply(ToolUse("Task", task)),
        text("All counted."),
        afterwards=reply(text("Told.")),
    )


@check(
    "subagent",
    "A foreground subagent has task_started, lines with parent_tool_use_id and one tool result with its text.",
)
async def foreground(bench: Bench) -> None:
    _model(bench, background=False)
    lines = await (await bench.start()).turn("go")
    call = next(block["id"] for block in blocks(lines, "assistant", "tool_use") if block["name"] in ("Task", "Agent"))
    expect_equal("system/task_started lines", len(of_type(lines, "system", "task_started")), 1)
    inner = [line for line in lines if line.get("parent_tool_use_id") == call]
    expect(
        any(line["type"] == "assistant" for line in inner),
        "no assistant line has the tool use id as parent_tool_use_id",
    )
    outcome = [block for block in tool_results(lines) if block["tool_use_id"] == call]
    expect_equal("tool results for the call", len(outcome), 1)
    expect(DONE in str(outcome[0].get("content")), "the tool result lacks the subagent's text")
    expect_equal("result", lines[-1].get("result"), "All counted.")


@check("subagent", "Assistant lines of the main thread have parent_tool_use_id null, and the result has none.")
async def main_thread(bench: Bench) -> None:
    _model(bench, background=False)
    lines = await (await bench.start()).turn("go")
    last = of_type(lines, "assistant")[-1]
    expect_equal("parent_tool_use_id of the last line", last.get("parent_tool_use_id", "missing"), None)
    expect_equal("parent_tool_use_id of the result", lines[-1].get("parent_tool_use_id"), None)


@check(
    "subagent", "A background subagent ends after the turn, with task_notification and a new turn that has an origin."
)
async def background(bench: Bench) -> None:
    _model(bench, background=True)
    agent = await bench.start()
    lines = await agent.turn("go")
    expect_equal("origin of the first result", lines[-1].get("origin"), None)
    await agent.system("task_notification")
    result = await agent.result()
    expect_equal("origin of the second result", nested(result, "origin").get("kind"), "task-notification")
    expect_equal("exit code", await agent.end(), 0)
