"""Hooks of the host: when they are called, and what their answers do."""

from __future__ import annotations

from handrail.agent.models.script import text, tool_use
from handrail.conform.bench import Bench
from handrail.conform.check import Json, check, expect, same, typed
from handrail.conform.lines import of, sent_text, tool_results, tool_texts
from handrail.conform.talk import Talk

RUN = "touch made.txt"


async def _with_hooks(bench: Bench, events: dict[str, Json], *, matcher: str | None = None) -> tuple[Talk, list[Json]]:
    """An agent with one hook per event, which answers as told. Out: also the requests that come."""
    called: list[Json] = []

    def answer(request: Json) -> Json:
        called.append(request)
        return events[request["callback_id"].removeprefix("hook-")]

    agent = await bench.start(answers={"hook_callback": answer, "can_use_tool": lambda _: {"behavior": "allow"}})
    only: Json = {} if matcher is None else {"matcher": matcher}
    hooks = {event: [{**only, "hookCallbackIds": [f"hook-{event}"]}] for event in events}
    same("the answer to initialize", (await agent.request("initialize", hooks=hooks)).get("subtype"), "success")
    return agent, called


def _pre(**output: object) -> Json:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **output}}


@check("hook", "PreToolUse is called with the event, the tool, its input and the id; a neutral answer changes nothing.")
async def pre_tool_use(bench: Bench) -> None:
    bench.says(tool_use("Bash", command=RUN), text("Done."))
    agent, called = await _with_hooks(bench, {"PreToolUse": {}})
    await agent.turn("go")
    same("calls", len(called), 1)
    given = called[0]["input"]
    same("the event and tool", (given.get("hook_event_name"), given.get("tool_name")), ("PreToolUse", "Bash"))
    same("the command", given["tool_input"].get("command"), RUN)
    typed(given, {"session_id": str, "transcript_path": str, "cwd": str, "permission_mode": str}, "the input")
    expect((bench.lab.project / "made.txt").exists(), "the command did not run")


@check("hook", "PreToolUse that denies keeps the tool from running and tells the model why.")
async def pre_tool_use_denies(bench: Bench) -> None:
    bench.says(tool_use("Bash", command=RUN), text("Done."))
    denial = _pre(permissionDecision="deny", permissionDecisionReason="the hook is against it")
    agent, _ = await _with_hooks(bench, {"PreToolUse": denial})
    lines = await agent.turn("go")
    expect(not (bench.lab.project / "made.txt").exists(), "the command ran")
    expect("the hook is against it" in "".join(tool_texts(lines)), f"the model is told {tool_texts(lines)}")
    same(
        "questions",
        len([line for line in of(lines, "control_request") if line["request"]["subtype"] == "can_use_tool"]),
        0,
    )


@check("hook", "PreToolUse that allows spares the question.")
async def pre_tool_use_allows(bench: Bench) -> None:
    bench.says(tool_use("Bash", command=RUN), text("Done."))
    agent, _ = await _with_hooks(bench, {"PreToolUse": _pre(permissionDecision="allow")})
    lines = await agent.turn("go")
    same(
        "questions",
        len([line for line in of(lines, "control_request") if line["request"]["subtype"] == "can_use_tool"]),
        0,
    )
    expect((bench.lab.project / "made.txt").exists(), "the command did not run")


@check("hook", "PreToolUse may give the tool another input.")
async def pre_tool_use_changes_the_input(bench: Bench) -> None:
    bench.says(tool_use("Bash", command=RUN), text("Done."))
    changed = _pre(permissionDecision="allow", updatedInput={"command": "touch other.txt"})
    agent, _ = await _with_hooks(bench, {"PreToolUse": changed})
    await agent.turn("go")
    seen = [(bench.lab.project / name).exists() for name in ("made.txt", "other.txt")]
    same("which files were made", seen, [False, True])


@check("hook", "A matcher that does not fit the tool keeps the hook from being called.")
async def matcher(bench: Bench) -> None:
    bench.says(tool_use("Bash", command="echo x"), text("Done."))
    agent, called = await _with_hooks(bench, {"PreToolUse": {}}, matcher="Write|Edit")
    await agent.turn("go")
    same("calls", len(called), 0)


@check("hook", "PostToolUse is called after the tool with its response, and its context reaches the model.")
async def post_tool_use(bench: Bench) -> None:
    bench.says(tool_use("Bash", command="echo outcome"), text("Done."))
    more = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "the hook adds this"}}
    agent, called = await _with_hooks(bench, {"PostToolUse": more})
    await agent.turn("go")
    same("calls", len(called), 1)
    expect("outcome" in str(called[0]["input"].get("tool_response")), "the hook does not see the response")
    expect("the hook adds this" in sent_text(bench.model.main_requests[1].body), "the model does not see the context")


@check("hook", "UserPromptSubmit that blocks: no request to the model, and a result with num_turns 0.")
async def prompt_blocked(bench: Bench) -> None:
    bench.says(text("Never."))
    agent, called = await _with_hooks(bench, {"UserPromptSubmit": {"decision": "block", "reason": "not this"}})
    lines = await agent.turn("a forbidden prompt")
    same("the prompt that the hook sees", called[0]["input"].get("prompt"), "a forbidden prompt")
    same("requests to the model", len(bench.model.main_requests), 0)
    same("subtype and num_turns", (lines[-1].get("subtype"), lines[-1].get("num_turns")), ("success", 0))
    same("system/init lines", len(of(lines, "system", "init")), 1)


@check("hook", "Stop that blocks brings another round, in which the model is told the reason.")
async def stop_blocked(bench: Bench) -> None:
    bench.says(text("I stop."), text("I went on."))
    rounds: list[bool] = []

    def answer(request: Json) -> Json:
        rounds.append(bool(request["input"].get("stop_hook_active")))
        return {} if rounds[-1] else {"decision": "block", "reason": "one more thing"}

    agent = await bench.start(answers={"hook_callback": answer})
    await agent.request("initialize", hooks={"Stop": [{"hookCallbackIds": ["stop"]}]})
    lines = await agent.turn("go")
    same("stop_hook_active of the calls", rounds, [False, True])
    expect("one more thing" in sent_text(bench.model.main_requests[1].body), "the model is not told the reason")
    same("the result", lines[-1].get("result"), "I went on.")


@check("hook", "An error as answer of a hook is taken as an empty one: the tool runs.")
async def failing_hook(bench: Bench) -> None:
    bench.says(tool_use("Bash", command="echo fine"), text("Done."))
    agent = await bench.start()
    await agent.request("initialize", hooks={"PreToolUse": [{"hookCallbackIds": ["h"]}]})
    await agent.prompt("go")
    asked = await agent.asked("hook_callback")
    body = {"subtype": "error", "request_id": asked["request_id"], "error": "the hook broke"}
    await agent.send({"type": "control_response", "response": body})
    await agent.result()
    same("is_error", [bool(block.get("is_error")) for block in tool_results(agent.lines)], [False])
