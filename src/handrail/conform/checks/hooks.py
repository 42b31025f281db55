"""Hooks of the host: when they are called, and the effects of their answers."""

from __future__ import annotations

from handrail.agent.models.script import text, tool_use
from handrail.conform.agent_process import AgentProcess
from handrail.conform.bench import Bench
from handrail.conform.check import Json, check, expect, expect_equal, expect_fields
from handrail.conform.lines import of_type, sent_text, tool_results, tool_texts

RUN = "touch made.txt"


async def _with_hooks(
    bench: Bench, events: dict[str, Json], *, matcher: str | None = None
) -> tuple[AgentProcess, list[Json]]:
    """Start an agent with one hook per event and a fixed answer for each; also returns the list of hook requests."""
    called: list[Json] = []

    def answer(request: Json) -> Json:
        called.append(request)
        return events[request["callback_id"].removeprefix("hook-")]

    agent = await bench.start(answers={"hook_callback": answer, "can_use_tool": lambda _: {"behavior": "allow"}})
    only: Json = {} if matcher is None else {"matcher": matcher}
    hooks = {event: [{**only, "hookCallbackIds": [f"hook-{event}"]}] for event in events}
    expect_equal("answer to initialize", (await agent.request("initialize", hooks=hooks)).get("subtype"), "success")
    return agent, called


def _pre(**output: object) -> Json:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **output}}


@check("hook", "PreToolUse gets the event, tool and input; an empty answer changes nothing.")
async def pre_tool_use(bench: Bench) -> None:
    bench.says(tool_use("Bash", command=RUN), text("Done."))
    agent, called = await _with_hooks(bench, {"PreToolUse": {}})
    await agent.turn("go")
    expect_equal("calls", len(called), 1)
    given = called[0]["input"]
    expect_equal("event and tool", (given.get("hook_event_name"), given.get("tool_name")), ("PreToolUse", "Bash"))
    expect_equal("command", given["tool_input"].get("command"), RUN)
    expect_fields(given, {"session_id": str, "transcript_path": str, "cwd": str, "permission_mode": str}, "input")
    expect((bench.lab.project / "made.txt").exists(), "the command did not run")


@check("hook", "A PreToolUse hook can deny a tool, and the model gets the reason.")
async def pre_tool_use_denies(bench: Bench) -> None:
    bench.says(tool_use("Bash", command=RUN), text("Done."))
    denial = _pre(permissionDecision="deny", permissionDecisionReason="the hook is against it")
    agent, _ = await _with_hooks(bench, {"PreToolUse": denial})
    lines = await agent.turn("go")
    expect(not (bench.lab.project / "made.txt").exists(), "the command ran")
    expect("the hook is against it" in "".join(tool_texts(lines)), f"tool results: {tool_texts(lines)}")
    expect_equal(
        "questions",
        len([line for line in of_type(lines, "control_request") if line["request"]["subtype"] == "can_use_tool"]),
        0,
    )


@check("hook", "A PreToolUse hook can allow a tool without a question.")
async def pre_tool_use_allows(bench: Bench) -> None:
    bench.says(tool_use("Bash", command=RUN), text("Done."))
    agent, _ = await _with_hooks(bench, {"PreToolUse": _pre(permissionDecision="allow")})
    lines = await agent.turn("go")
    expect_equal(
        "questions",
        len([line for line in of_type(lines, "control_request") if line["request"]["subtype"] == "can_use_tool"]),
        0,
    )
    expect((bench.lab.project / "made.txt").exists(), "the command did not run")


@check("hook", "A PreToolUse hook can replace the tool's input.")
async def pre_tool_use_updates_input(bench: Bench) -> None:
    bench.says(tool_use("Bash", command=RUN), text("Done."))
    changed = _pre(permissionDecision="allow", updatedInput={"command": "touch other.txt"})
    agent, _ = await _with_hooks(bench, {"PreToolUse": changed})
    await agent.turn("go")
    seen = [(bench.lab.project / name).exists() for name in ("made.txt", "other.txt")]
    expect_equal("files created", seen, [False, True])


@check("hook", "A hook whose matcher does not match the tool is not called.")
async def matcher(bench: Bench) -> None:
    bench.says(tool_use("Bash", command="echo x"), text("Done."))
    agent, called = await _with_hooks(bench, {"PreToolUse": {}}, matcher="Write|Edit")
    await agent.turn("go")
    expect_equal("calls", len(called), 0)


@check("hook", "PostToolUse gets the tool's response, and its additionalContext reaches the model.")
async def post_tool_use(bench: Bench) -> None:
    bench.says(tool_use("Bash", command="echo outcome"), text("Done."))
    more = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "the hook adds this"}}
    agent, called = await _with_hooks(bench, {"PostToolUse": more})
    await agent.turn("go")
    expect_equal("calls", len(called), 1)
    expect("outcome" in str(called[0]["input"].get("tool_response")), "the hook input lacks the response")
    expect(
        "the hook adds this" in sent_text(bench.model.main_requests[1].body),
        "the request to the model lacks the context",
    )


@check("hook", "If UserPromptSubmit blocks, no request is sent to the model and the result has num_turns 0.")
async def prompt_blocked(bench: Bench) -> None:
    bench.says(text("Never."))
    agent, called = await _with_hooks(bench, {"UserPromptSubmit": {"decision": "block", "reason": "not this"}})
    lines = await agent.turn("a forbidden prompt")
    expect_equal("prompt in the hook input", called[0]["input"].get("prompt"), "a forbidden prompt")
    expect_equal("requests to the model", len(bench.model.main_requests), 0)
    expect_equal("subtype and num_turns", (lines[-1].get("subtype"), lines[-1].get("num_turns")), ("success", 0))
    expect_equal("system/init lines", len(of_type(lines, "system", "init")), 1)


@check("hook", "If Stop blocks, the turn continues and the model gets the reason.")
async def stop_blocked(bench: Bench) -> None:
    bench.says(text("I stop."), text("I went on."))
    rounds: list[bool] = []

    def answer(request: Json) -> Json:
        rounds.append(bool(request["input"].get("stop_hook_active")))
        return {} if rounds[-1] else {"decision": "block", "reason": "one more thing"}

    agent = await bench.start(answers={"hook_callback": answer})
    await agent.request("initialize", hooks={"Stop": [{"hookCallbackIds": ["stop"]}]})
    lines = await agent.turn("go")
    expect_equal("stop_hook_active of the calls", rounds, [False, True])
    expect(
        "one more thing" in sent_text(bench.model.main_requests[1].body), "the request to the model lacks the reason"
    )
    expect_equal("result", lines[-1].get("result"), "I went on.")


@check("hook", "An error answer from a hook counts as an empty answer: the tool runs.")
async def failing_hook(bench: Bench) -> None:
    bench.says(tool_use("Bash", command="echo fine"), text("Done."))
    agent = await bench.start()
    await agent.request("initialize", hooks={"PreToolUse": [{"hookCallbackIds": ["h"]}]})
    await agent.prompt("go")
    asked = await agent.next_request("hook_callback")
    body = {"subtype": "error", "request_id": asked["request_id"], "error": "the hook broke"}
    await agent.send({"type": "control_response", "response": body})
    await agent.result()
    expect_equal("is_error", [bool(block.get("is_error")) for block in tool_results(agent.lines)], [False])
