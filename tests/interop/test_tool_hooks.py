"""Hooks around tools: before, after, and in place of a permission."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from handrail import Allow, HookMatcher, HookOutput, PermissionRequest, TurnResult
from handrail.schema.hooks import (
    PermissionRequestInput,
    PostToolUseFailureInput,
    PostToolUseInput,
    PreToolUseInput,
)
from handrail.schema.system_messages import InformationalMessage
from handrail.testing import Endpoint, Lab, text
from tests.interop.scenario import Model, Talk, bash, everything_sent, of, results_seen, results_sent


def touches(model: Model) -> Endpoint:
    """A model that creates one file."""
    return model(bash("touch made.txt; echo made"), text("done"))


async def run(api: Endpoint, talk: Talk, **options: Any) -> tuple[TurnResult, list[Any]]:
    """Run one turn. Returns its result and its messages."""
    async with talk(api, **options) as session:
        turn = await session.send("go")
        messages = [message async for message in turn]
    return turn.result, messages


def never(request: PermissionRequest) -> Allow:
    raise AssertionError(f"{request.tool_name} was not to be asked about")


async def test_hook_allows_a_tool_without_a_question(model: Model, talk: Talk, lab: Lab):
    told: list[PreToolUseInput] = []

    async def allow(event: PreToolUseInput) -> HookOutput:
        told.append(event)
        return HookOutput(permission_decision="allow", permission_decision_reason="I say so")

    api = touches(model)
    await run(api, talk, can_use_tool=never, hooks={"PreToolUse": [allow]})
    (event,) = told
    assert (event.tool_name, event.tool_input["command"]) == ("Bash", "touch made.txt; echo made")
    assert event.tool_use_id
    assert event.permission_mode == "default"
    assert results_sent(api.main_requests[1]) == ["made"]
    assert (lab.project / "made.txt").exists()


async def test_hook_denies_a_tool_and_the_model_gets_the_reason(model: Model, talk: Talk, lab: Lab):
    async def deny(event: PreToolUseInput) -> HookOutput:
        return HookOutput(permission_decision="deny", permission_decision_reason="the disk is sacred")

    api = touches(model)
    result, messages = await run(api, talk, can_use_tool=never, hooks={"PreToolUse": [deny]})
    assert "the disk is sacred" in results_sent(api.main_requests[1])[0]
    assert results_seen(messages)[0].is_error
    assert result.text == "done"
    assert not (lab.project / "made.txt").exists()


async def test_hook_forces_a_question(model: Model, talk: Talk):
    asked: list[PermissionRequest] = []

    async def ask(event: PreToolUseInput) -> HookOutput:
        return HookOutput(permission_decision="ask", permission_decision_reason="are you sure?")

    def decide(request: PermissionRequest) -> Allow:
        asked.append(request)
        return Allow()

    await run(model(bash("ls"), text("done")), talk, can_use_tool=decide, hooks={"PreToolUse": [ask]})
    assert [(request.decision_reason_type, request.decision_reason) for request in asked] == [("hook", "are you sure?")]


async def test_hook_updates_the_tool_input(model: Model, talk: Talk, lab: Lab):
    async def modify(event: PreToolUseInput) -> HookOutput:
        return HookOutput(permission_decision="allow", updated_input={"command": "echo CHANGED"})

    api = touches(model)
    await run(api, talk, can_use_tool=never, hooks={"PreToolUse": [modify]})
    assert results_sent(api.main_requests[1]) == ["CHANGED"]
    assert not (lab.project / "made.txt").exists()


async def test_callback_gets_the_input_that_a_hook_updated(model: Model, talk: Talk):
    asked: list[str] = []

    def decide(request: PermissionRequest) -> Allow:
        asked.append(request.input["command"])
        return Allow()

    async def modify(event: PreToolUseInput) -> HookOutput:
        return HookOutput(updated_input={"command": "touch other.txt"})

    await run(touches(model), talk, can_use_tool=decide, hooks={"PreToolUse": [modify]})
    assert asked == ["touch other.txt"]


async def test_a_hook_defers_a_tool_and_the_turn_ends_there(model: Model, talk: Talk, lab: Lab):
    async def defer(event: PreToolUseInput) -> HookOutput:
        return HookOutput(permission_decision="defer")

    api = touches(model)
    result, _ = await run(api, talk, can_use_tool=never, hooks={"PreToolUse": [defer]})
    assert result.reason == "tool_deferred"
    assert result.message.deferred_tool_use is not None
    assert result.message.deferred_tool_use.name == "Bash"
    assert result.message.deferred_tool_use.input["command"] == "touch made.txt; echo made"
    assert len(api.main_requests) == 1
    assert not (lab.project / "made.txt").exists()


async def test_pre_tool_hook_adds_context(model: Model, talk: Talk):
    async def add(event: PreToolUseInput) -> HookOutput:
        return HookOutput(additional_context="The disk is nearly full.")

    api = touches(model)
    await run(api, talk, can_use_tool=lambda request: True, hooks={"PreToolUse": [add]})
    assert "The disk is nearly full." in everything_sent(api.main_requests[1])


async def test_hook_blocks_with_the_old_format(model: Model, talk: Talk, lab: Lab):
    api = touches(model)
    block = {"decision": "block", "reason": "as in the old days"}
    await run(api, talk, can_use_tool=never, hooks={"PreToolUse": [lambda event: block]})
    assert "as in the old days" in results_sent(api.main_requests[1])[0]
    assert not (lab.project / "made.txt").exists()


async def test_a_hook_stops_the_turn_after_the_tool(model: Model, talk: Talk):
    api = touches(model)
    stop = {"continue_": False, "stopReason": "enough for today"}
    result, _ = await run(api, talk, can_use_tool=lambda request: True, hooks={"PreToolUse": [lambda event: stop]})
    assert result.reason == "hook_stopped"
    assert len(api.main_requests) == 1


async def test_hook_sends_a_message_to_the_user(model: Model, talk: Talk):
    async def note(event: PreToolUseInput) -> HookOutput:
        return HookOutput(permission_decision="allow", system_message="mind the gap")

    _, messages = await run(touches(model), talk, hooks={"PreToolUse": [note]})
    assert any("mind the gap" in message.content for message in of(InformationalMessage, messages))


async def test_a_permission_hook_answers_in_place_of_the_callback(model: Model, talk: Talk, lab: Lab):
    told: list[PermissionRequestInput] = []
    withdrawn = asyncio.Event()

    async def decide(request: PermissionRequest) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()

    async def allow(event: PermissionRequestInput) -> HookOutput:
        told.append(event)
        return HookOutput(permission={"behavior": "allow"})

    api = touches(model)
    async with talk(api, can_use_tool=decide, hooks={"PermissionRequest": [allow]}) as session:
        assert (await session.ask("go")).text == "done"
        await withdrawn.wait()
    assert [(event.tool_name, bool(event.suggestions)) for event in told] == [("Bash", True)]
    assert results_sent(api.main_requests[1]) == ["made"]
    assert (lab.project / "made.txt").exists()


async def test_post_tool_hook_gets_the_result_and_adds_context(model: Model, talk: Talk):
    told: list[PostToolUseInput] = []

    async def add(event: PostToolUseInput) -> HookOutput:
        told.append(event)
        return HookOutput(additional_context="Remember to clean up.")

    api = touches(model)
    await run(api, talk, can_use_tool=lambda request: True, hooks={"PostToolUse": [add]})
    (event,) = told
    assert (event.tool_name, event.tool_response["stdout"]) == ("Bash", "made")
    assert "Remember to clean up." in everything_sent(api.main_requests[1])


async def test_failure_hook_gets_the_error(model: Model, talk: Talk):
    told: list[Any] = []
    hooks = {"PostToolUse": [told.append], "PostToolUseFailure": [told.append]}
    await run(model(bash("exit 3"), text("done")), talk, can_use_tool=lambda request: True, hooks=hooks)
    (event,) = told
    assert isinstance(event, PostToolUseFailureInput)
    assert "3" in event.error
    assert event.is_interrupt is False


async def test_hook_timeout_cancels_the_hook_and_the_tool_does_not_run(model: Model, talk: Talk, lab: Lab):
    cancelled = asyncio.Event()

    async def slow(event: PreToolUseInput) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    api = touches(model)
    hooks = {"PreToolUse": [HookMatcher(hooks=[slow], timeout=1)]}
    result, messages = await run(api, talk, can_use_tool=lambda request: True, hooks=hooks)
    assert cancelled.is_set()
    assert result.text == "done"
    assert results_seen(messages)[0].is_error
    assert not (lab.project / "made.txt").exists()


@pytest.mark.parametrize("returned", [None, 42], ids=["raises", "returns nonsense"])
async def test_failing_hook_is_reported_and_ignored(returned: Any, model: Model, talk: Talk, lab: Lab):
    async def broken(event: PreToolUseInput) -> Any:
        if returned is None:
            raise LookupError("hook crashed")
        return returned

    _, messages = await run(touches(model), talk, can_use_tool=lambda request: True, hooks={"PreToolUse": [broken]})
    assert "hook_callback_failed" in {message.tag for message in of(InformationalMessage, messages)}
    assert (lab.project / "made.txt").exists()
