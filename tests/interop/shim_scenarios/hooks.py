"""Hooks of each event that fires in a session, with each kind of answer."""

from __future__ import annotations

import json
from typing import Any

from tests.interop.shim_scenarios.stage import TOUCH, Sdk, Stage, allowing, calls, scenario, when

MADE = (when("I made it.", tool_result="it is made"), when("I understand.", failed=True), TOUCH)
LOOK = calls("Agent", description="Look", prompt="look closely", subagent_type="looker", run_in_background=False)


def hook(stage: Stage, answer: dict[str, Any], event: str = "", **specific: Any) -> Any:
    """A hook that records its calls and always gives one answer."""
    output = answer | ({"hookSpecificOutput": {"hookEventName": event, **specific}} if event else {})

    async def callback(given: dict[str, Any], tool_use_id: str | None, context: Any) -> dict[str, Any]:
        stage.note("hook", given, tool_use_id, context)
        return output

    return callback


async def ask(stage: Stage, event: str, callback: Any, matcher: str | None = None, **options: Any) -> list[Any]:
    hooks = {event: [stage.sdk.HookMatcher(matcher=matcher, hooks=[callback])]}
    return await stage.ask("go", hooks=hooks, **options)


@scenario(*MADE, trio=True)
async def pre_tool_use_allow(sdk: Sdk, stage: Stage) -> None:
    allow = {"permissionDecision": "allow", "permissionDecisionReason": "fine"}
    await ask(stage, "PreToolUse", hook(stage, {}, "PreToolUse", **allow), "Bash")


@scenario(*MADE)
async def pre_tool_use_deny(sdk: Sdk, stage: Stage) -> None:
    deny = {"permissionDecision": "deny", "permissionDecisionReason": "not today"}
    await ask(stage, "PreToolUse", hook(stage, {}, "PreToolUse", **deny), "Bash")


@scenario(*MADE)
async def pre_tool_use_ask(sdk: Sdk, stage: Stage) -> None:
    answer = {"permissionDecision": "ask", "permissionDecisionReason": "unsure"}
    callback = hook(stage, {}, "PreToolUse", **answer)
    await ask(stage, "PreToolUse", callback, "Bash", can_use_tool=allowing(stage))


@scenario(when("changed", tool_result="by the hook"), TOUCH)
async def pre_tool_use_with_another_input(sdk: Sdk, stage: Stage) -> None:
    answer = {"permissionDecision": "allow", "updatedInput": {"command": "echo by the hook"}}
    await ask(stage, "PreToolUse", hook(stage, {}, "PreToolUse", **answer), "Bash")


@scenario(*MADE)
async def pre_tool_use_defer(sdk: Sdk, stage: Stage) -> None:
    callback = hook(stage, {}, "PreToolUse", permissionDecision="defer")
    with stage.failing():
        await stage.query("go", hooks={"PreToolUse": [sdk.HookMatcher(matcher="Bash", hooks=[callback])]})


@scenario(*MADE)
async def pre_tool_use_block(sdk: Sdk, stage: Stage) -> None:
    await ask(stage, "PreToolUse", hook(stage, {"decision": "block", "reason": "no"}), "Bash")


@scenario(*MADE)
async def matcher_of_another_tool(sdk: Sdk, stage: Stage) -> None:
    await ask(stage, "PreToolUse", hook(stage, {"decision": "block"}), "Write", allowed_tools=["Bash"])


@scenario(*MADE)
async def two_hooks_of_one_matcher(sdk: Sdk, stage: Stage) -> None:
    pair = [hook(stage, {}), hook(stage, {"systemMessage": "seen"})]
    await stage.ask("go", hooks={"PreToolUse": [sdk.HookMatcher(matcher="Bash", hooks=pair)]}, allowed_tools=["Bash"])


@scenario(*MADE, trio=True)
async def post_tool_use_with_context(sdk: Sdk, stage: Stage) -> None:
    callback = hook(stage, {}, "PostToolUse", additionalContext="the disk is nearly full")
    await ask(stage, "PostToolUse", callback, "Bash", allowed_tools=["Bash"])


@scenario(*MADE)
async def post_tool_use_stops_the_turn(sdk: Sdk, stage: Stage) -> None:
    callback = hook(stage, {"continue_": False, "stopReason": "enough"})
    await ask(stage, "PostToolUse", callback, "Bash", allowed_tools=["Bash"])


@scenario(when("it failed", failed=True), calls("Bash", command="exit 3"))
async def post_tool_use_failure(sdk: Sdk, stage: Stage) -> None:
    callback = hook(stage, {}, "PostToolUseFailure", additionalContext="try again tomorrow")
    await ask(stage, "PostToolUseFailure", callback, allowed_tools=["Bash"])


@scenario(when("Monday.", prompt="today is a Monday"), afterwards="no idea")
async def user_prompt_submit_with_context(sdk: Sdk, stage: Stage) -> None:
    await ask(stage, "UserPromptSubmit", hook(stage, {}, "UserPromptSubmit", additionalContext="today is a Monday"))


@scenario(afterwards="never asked")
async def user_prompt_submit_block(sdk: Sdk, stage: Stage) -> None:
    await ask(stage, "UserPromptSubmit", hook(stage, {"decision": "block", "reason": "not that"}))


@scenario("finished", "more")
async def stop_block(sdk: Sdk, stage: Stage) -> None:
    asked: list[bool] = []

    async def callback(given: dict[str, Any], tool_use_id: str | None, context: Any) -> dict[str, Any]:
        stage.note("hook", given, tool_use_id, context)
        asked.append(True)
        return {} if len(asked) > 1 else {"decision": "block", "reason": "not yet"}

    await ask(stage, "Stop", callback)


@scenario(when("I see a mouse.", prompt="look closely"), when("A mouse.", tool_result="I see a mouse."), LOOK)
async def subagent_start_and_stop(sdk: Sdk, stage: Stage) -> None:
    agents = {"looker": sdk.AgentDefinition(description="Looks", prompt="You have good eyes", tools=["Read"])}
    hooks = {event: [sdk.HookMatcher(hooks=[hook(stage, {})])] for event in ("SubagentStart", "SubagentStop")}
    await stage.ask("go", hooks=hooks, agents=agents, allowed_tools=["Agent"])


@scenario("one", "a summary")
async def pre_compact(sdk: Sdk, stage: Stage) -> None:
    async with stage.client(hooks={"PreCompact": [sdk.HookMatcher(hooks=[hook(stage, {})])]}) as client:
        await stage.turn(client, "remember 42")
        await stage.turn(client, "/compact")


@scenario(*MADE)
async def permission_request(sdk: Sdk, stage: Stage) -> None:
    callback = hook(stage, {}, "PermissionRequest", decision={"behavior": "allow"})
    await ask(stage, "PermissionRequest", callback, can_use_tool=allowing(stage))


@scenario(*MADE)
async def hook_that_raises(sdk: Sdk, stage: Stage) -> None:
    async def callback(given: dict[str, Any], tool_use_id: str | None, context: Any) -> dict[str, Any]:
        stage.note("hook", given["hook_event_name"])
        raise ValueError("the hook is broken")

    await ask(stage, "PreToolUse", callback, allowed_tools=["Bash"])


@scenario(*MADE)
async def async_hook(sdk: Sdk, stage: Stage) -> None:
    callback = hook(stage, {"async_": True, "asyncTimeout": 5000})
    await ask(stage, "PostToolUse", callback, allowed_tools=["Bash"])


@scenario(*MADE)
async def hook_with_a_timeout(sdk: Sdk, stage: Stage) -> None:
    matcher = sdk.HookMatcher(matcher="Bash", hooks=[hook(stage, {})], timeout=30)
    await stage.ask("go", hooks={"PreToolUse": [matcher]}, allowed_tools=["Bash"])


@scenario(*MADE)
async def hook_that_blocks_on_failure(sdk: Sdk, stage: Stage) -> None:
    async def callback(*_: Any) -> dict[str, Any]:
        raise ValueError("the hook is broken")

    matcher = sdk.HookMatcher(matcher="Bash", hooks=[callback], on_failure="block")
    messages = await stage.ask("go", hooks={"PreToolUse": [matcher]}, allowed_tools=["Bash"])
    stage.see(len(messages), "messages")


@scenario(*MADE)
async def hooks_in_a_query(sdk: Sdk, stage: Stage) -> None:
    events = ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")
    hooks = {event: [sdk.HookMatcher(hooks=[hook(stage, {})])] for event in events}
    await stage.query("go", hooks=hooks, allowed_tools=["Bash"])


@scenario(*MADE)
async def command_hook_events(sdk: Sdk, stage: Stage) -> None:
    command = {"type": "command", "command": "echo hooked"}
    settings = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [command]}]}}
    await stage.ask("go", settings=json.dumps(settings), include_hook_events=True, allowed_tools=["Bash"])
