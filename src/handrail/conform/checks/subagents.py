"""Subagents: in the foreground and in the background, and whose lines are whose."""

from __future__ import annotations

from handrail.agent.models.script import ToolUse, When, reply, text, tool_use
from handrail.conform.bench import Bench
from handrail.conform.check import check, expect, same
from handrail.conform.lines import blocks, inside, of, tool_results

TASK = "Count the stars and say how many."
DONE = "Seven stars."


def _model(bench: Bench, *, background: bool) -> None:
    """A main thread that hands out a task; whoever has the task does it."""
    task = {"description": "count", "prompt": TASK, "subagent_type": "general-purpose", "run_in_background": background}
    bench.says(
        reply(tool_use("Bash", command="echo counting"), when=When(prompt=TASK), times=1),
        reply(text(DONE), when=When(tool_result="counting")),
        reply(ToolUse("Task", task)),
        text("All counted."),
        afterwards=reply(text("Told.")),
    )


@check(
    "subagent", "A foreground subagent: task_started, its lines with parent_tool_use_id, one tool result with its text."
)
async def foreground(bench: Bench) -> None:
    _model(bench, background=False)
    lines = await (await bench.start()).turn("go")
    call = next(block["id"] for block in blocks(lines, "assistant", "tool_use") if block["name"] in ("Task", "Agent"))
    same("system/task_started lines", len(of(lines, "system", "task_started")), 1)
    inner = [line for line in lines if line.get("parent_tool_use_id") == call]
    expect(any(line["type"] == "assistant" for line in inner), "no line of the subagent names its call")
    outcome = [block for block in tool_results(lines) if block["tool_use_id"] == call]
    same("tool results of the call", len(outcome), 1)
    expect(DONE in str(outcome[0].get("content")), "the result has not the words of the subagent")
    same("the result", lines[-1].get("result"), "All counted.")


@check("subagent", "The lines of the main thread have parent_tool_use_id null, the result has none.")
async def main_thread(bench: Bench) -> None:
    _model(bench, background=False)
    lines = await (await bench.start()).turn("go")
    last = of(lines, "assistant")[-1]
    same("parent_tool_use_id of the last line", last.get("parent_tool_use_id", "missing"), None)
    same("parent_tool_use_id of the result", lines[-1].get("parent_tool_use_id"), None)


@check("subagent", "A background subagent: the turn ends, then task_notification and a turn of its own with an origin.")
async def background(bench: Bench) -> None:
    _model(bench, background=True)
    agent = await bench.start()
    lines = await agent.turn("go")
    same("origin of the first result", lines[-1].get("origin"), None)
    await agent.system("task_notification")
    result = await agent.result()
    same("origin of the second result", inside(result, "origin").get("kind"), "task-notification")
    same("the exit code", await agent.end(), 0)
