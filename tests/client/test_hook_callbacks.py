"""Registering and calling hooks."""

import asyncio
from typing import Any

import pytest

from handrail import ControlRefused, HookInput, HookMatcher, HookOutput, Options, OptionsError
from handrail.client.hook_callbacks import HookCallbacks
from handrail.schema.hooks import HOOK_INPUTS
from handrail.schema.tool_hooks import PreToolUseInput
from handrail.testing import ScriptedCli, asks
from tests.client.conversation import joined


def nothing(_: object) -> None:
    """Goes on."""


def fires(event: str, id: str = "hook_0", **fields: Any) -> dict[str, Any]:
    told = {"session_id": "s", "transcript_path": "/t", "cwd": "/c", "hook_event_name": event, **fields}
    return asks("hook_callback", callback_id=id, input=told, tool_use_id=fields.get("tool_use_id"))


async def answer(hook: Any, question: Any, event: str = "PreToolUse") -> Any:
    """The answer when the CLI calls this hook."""
    cli = ScriptedCli([[question]])
    async with joined(cli, Options(hooks={event: [hook]})) as session:
        await session.ask("Hi")
    (only,) = cli.answers
    return only


def test_functions_and_matchers_are_registered_with_unique_ids():
    hooks = HookCallbacks(
        {
            "PreToolUse": [HookMatcher(matcher="Bash|Write", hooks=[nothing, nothing], timeout=2.5), nothing],
            "Stop": [HookMatcher(hooks=[nothing], on_failure="block")],
        }
    )
    assert hooks.registration == {
        "PreToolUse": [
            {"matcher": "Bash|Write", "hookCallbackIds": ["hook_0", "hook_1"], "timeout": 2.5},
            {"matcher": None, "hookCallbackIds": ["hook_2"]},
        ],
        "Stop": [{"matcher": None, "hookCallbackIds": ["hook_3"], "onFailure": "block"}],
    }


def test_no_registration_without_hooks():
    assert HookCallbacks({}).registration == {}


@pytest.mark.parametrize("wrong", [5, "x", HookMatcher(hooks=[5])])  # type: ignore[list-item]
def test_non_callable_hook_is_rejected(wrong: Any):
    with pytest.raises(OptionsError, match="hooks: Stop: "):
        HookCallbacks({"Stop": [wrong]})


@pytest.mark.parametrize("event", HOOK_INPUTS.table)
async def test_every_event_is_typed(event: str):
    seen: list[HookInput] = []

    async def hook(told: HookInput) -> None:
        seen.append(told)

    # Required fields of some events.
    needed = {"tool_name": "Bash", "tool_input": {}, "tool_response": {}, "tool_use_id": "t", "error": "e"}
    assert await answer(hook, fires(event, **needed), event) == {}
    assert type(seen[0]) is HOOK_INPUTS.table[event]
    assert (seen[0].hook_event_name, seen[0].cwd) == (event, "/c")


async def test_unknown_event_keeps_all_fields():
    seen: list[HookInput] = []
    await answer(seen.append, fires("PostMortem", cause="tiredness"), "PostMortem")
    assert (type(seen[0]), seen[0].extra) == (HookInput, {"cause": "tiredness"})


OUTPUTS: list[tuple[Any, dict[str, Any]]] = [
    (None, {}),
    (HookOutput(), {}),
    ({}, {}),
    ({"decision": "block", "reason": "no"}, {"decision": "block", "reason": "no"}),
    ({"continue_": False, "async_": True}, {"continue": False, "async": True}),
    (HookOutput(continue_=False, stop_reason="enough"), {"continue": False, "stopReason": "enough"}),
    (HookOutput(async_=True, async_timeout=5), {"async": True, "asyncTimeout": 5}),
    (
        HookOutput(permission_decision="deny", permission_decision_reason="not that"),
        {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": "not that",
            }
        },
    ),
    (
        HookOutput(system_message="psst", updated_input={"command": "true"}, additional_context="c"),
        {
            "systemMessage": "psst",
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "updatedInput": {"command": "true"},
                "additionalContext": "c",
            },
        },
    ),
]


@pytest.mark.parametrize(("output", "expected"), OUTPUTS)
@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_hook_may_return_an_output_a_dict_or_none(output: Any, expected: dict[str, Any], kind: str):
    def plain(told: PreToolUseInput) -> Any:
        assert (told.tool_name, told.tool_input) == ("Bash", {"command": "ls"})
        return output

    async def asynchronous(told: PreToolUseInput) -> Any:
        return plain(told)

    question = fires("PreToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="t")
    assert await answer(plain if kind == "plain" else asynchronous, question) == expected


async def test_ids_call_their_functions():
    called: list[str] = []
    options = Options(hooks={"Stop": [lambda _: called.append("a"), lambda _: called.append("b")]})
    cli = ScriptedCli([[fires("Stop", "hook_1"), fires("Stop", "hook_0")]])
    async with joined(cli, options) as session:
        await session.ask("Hi")
    assert called == ["b", "a"]


async def test_invalid_hook_result_is_an_error():
    told = await answer(lambda _: 5, fires("PreToolUse", tool_name="Bash", tool_input={}))
    assert isinstance(told, ControlRefused)
    assert told.error == "the hook returned int; it must return HookOutput, a dict or None"


async def test_failing_hook_is_answered_with_its_error():
    def fail(_: object) -> None:
        raise ValueError("broken")

    told = await answer(fail, fires("PreToolUse", tool_name="Bash", tool_input={}))
    assert isinstance(told, ControlRefused)
    assert told.error == "ValueError: broken"


async def test_unencodable_output_is_answered_with_an_error():
    told = await answer(lambda _: {"reason": object()}, fires("PreToolUse", tool_name="Bash", tool_input={}))
    assert isinstance(told, ControlRefused)
    assert "TypeError" in told.error


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"callback_id": "hook_9", "input": {}}, "no hook is registered as 'hook_9'"),
        ({"input": {}}, "no hook is registered as None"),
        ({"callback_id": "hook_0"}, "hook_callback without an `input` object"),
        ({"callback_id": "hook_0", "input": []}, "hook_callback without an `input` object"),
    ],
)
async def test_invalid_hook_call_is_refused(fields: dict[str, Any], error: str):
    told = await answer(nothing, asks("hook_callback", **fields))
    assert isinstance(told, ControlRefused)
    assert told.error == error


async def test_withdrawn_hook_call_is_cancelled():
    called, cancelled = asyncio.Event(), asyncio.Event()

    async def slow(_: object) -> None:
        called.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    cli = ScriptedCli()
    async with joined(cli, Options(hooks={"Stop": [slow]})):
        asking = asyncio.create_task(cli.ask("hook_callback", callback_id="hook_0", input={"hook_event_name": "Stop"}))
        await called.wait()
        asking.cancel()
        await cancelled.wait()
    assert cli.answers == []


async def test_hooks_run_concurrently():
    meeting = asyncio.Barrier(3)

    async def meet(_: object) -> None:
        await meeting.wait()

    cli = ScriptedCli()
    async with joined(cli, Options(hooks={"Stop": [meet]})):
        fields: dict[str, Any] = {"callback_id": "hook_0", "input": {"hook_event_name": "Stop"}}
        await asyncio.gather(*(cli.ask("hook_callback", **fields) for _ in range(3)))
    assert cli.answers == [{}, {}, {}]
