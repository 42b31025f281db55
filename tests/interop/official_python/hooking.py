"""Hooks: around tools, before a prompt, at the end of a turn."""

from __future__ import annotations

from typing import Any

from claude_agent_sdk import HookMatcher
from stage import Said, Stage, allow, equal, never, scenario


class Hook:
    """A hook that gives one answer and records its inputs."""

    def __init__(self, answer: dict[str, Any], event: str = "", **specific: Any) -> None:
        self.answer = answer | ({"hookSpecificOutput": {"hookEventName": event, **specific}} if event else {})
        self.told: list[dict[str, Any]] = []

    async def __call__(self, told: dict[str, Any], tool_use_id: str | None, context: Any) -> dict[str, Any]:
        self.told.append(told)
        return self.answer


async def run(stage: Stage, event: str, hook: Any, matcher: str | None = None, **options: Any) -> Said:
    return await stage.ask("go", hooks={event: [HookMatcher(matcher=matcher, hooks=[hook])]}, **options)


@scenario
async def hook_allow(stage: Stage) -> None:
    hook = Hook({}, "PreToolUse", permissionDecision="allow", permissionDecisionReason="fine")
    said = await run(stage, "PreToolUse", hook, "Bash", can_use_tool=never)
    (told,) = hook.told
    equal((told["hook_event_name"], told["tool_name"]), ("PreToolUse", "Bash"))
    equal((told["session_id"], told["cwd"]), (said.result.session_id, str(stage.project)))
    equal((said.result.result, stage.made), ("I made it.", True))


@scenario
async def hook_deny(stage: Stage) -> None:
    hook = Hook({}, "PreToolUse", permissionDecision="deny", permissionDecisionReason="not today")
    said = await run(stage, "PreToolUse", hook, "Bash", can_use_tool=never)
    equal((said.result.result, stage.made), ("I understand.", False))
    equal(said.tool_results[0].is_error, True)


@scenario
async def hook_modify(stage: Stage) -> None:
    changed = {"command": "echo by the hook"}
    hook = Hook({}, "PreToolUse", permissionDecision="allow", updatedInput=changed)
    said = await run(stage, "PreToolUse", hook, "Bash", can_use_tool=never)
    equal((said.result.result, stage.made), ("changed", False))


@scenario
async def hook_after(stage: Stage) -> None:
    hook = Hook({}, "PostToolUse", additionalContext="the disk is nearly full")
    said = await run(stage, "PostToolUse", hook, "Bash", can_use_tool=allow)
    (told,) = hook.told
    equal(told["tool_response"]["stdout"], "it is made")
    equal(said.result.result, "I heard.")


@scenario
async def hook_prompt(stage: Stage) -> None:
    hook = Hook({}, "UserPromptSubmit", additionalContext="today is a Monday")
    said = await run(stage, "UserPromptSubmit", hook)
    equal((hook.told[0]["prompt"], said.result.result), ("go", "Monday."))


@scenario
async def hook_prompt_blocked(stage: Stage) -> None:
    said = await run(stage, "UserPromptSubmit", Hook({"decision": "block", "reason": "too early"}))
    assert "never asked" not in said.text
    assert "too early" in str(list(said))


@scenario
async def hook_stop(stage: Stage) -> None:
    told: list[dict[str, Any]] = []

    async def once(given: dict[str, Any], tool_use_id: str | None, context: Any) -> dict[str, Any]:
        told.append(given)
        return {} if given["stop_hook_active"] else {"decision": "block", "reason": "not yet"}

    said = await run(stage, "Stop", once)
    equal([one["stop_hook_active"] for one in told], [False, True])
    equal((said.text, said.result.result), ("finishedmore", "more"))


@scenario
async def blocked_hook_matcher(stage: Stage) -> None:
    hook = Hook({}, "PreToolUse", permissionDecision="deny", permissionDecisionReason="not today")
    said = await run(stage, "PreToolUse", hook, "Write|Edit", can_use_tool=allow)
    equal((hook.told, said.result.result), ([], "I made it."))
