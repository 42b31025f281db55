"""Permissions: callbacks, lists of tools, modes."""

from __future__ import annotations

import warnings
from typing import Any

from tests.interop.shim_scenarios.stage import (
    TOUCH,
    Sdk,
    Stage,
    allowing,
    answering,
    calls,
    lines,
    scenario,
    user,
    when,
)

MADE = (when("I made it.", tool_result="it is made"), when("I understand.", failed=True), TOUCH)
WRITE = calls("Write", file_path="one.txt", content="1")
QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [{"label": "Red", "description": "like fire"}, {"label": "Blue", "description": "like the sea"}],
}


@scenario(*MADE, trio=True)
async def allow(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go", can_use_tool=allowing(stage))


@scenario(*MADE, trio=True)
async def deny(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go", can_use_tool=answering(stage, lambda *_: sdk.PermissionResultDeny(message="not today")))


@scenario(*MADE)
async def deny_without_a_message(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go", can_use_tool=answering(stage, lambda *_: sdk.PermissionResultDeny()))


@scenario(*MADE)
async def deny_and_interrupt(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go", can_use_tool=answering(stage, lambda *_: sdk.PermissionResultDeny("deny", "stop", True)))


@scenario(when("changed", tool_result="by the user"), TOUCH)
async def allow_with_another_input(sdk: Sdk, stage: Stage) -> None:
    changed = {"command": "echo by the user"}
    await stage.ask("go", can_use_tool=answering(stage, lambda *_: sdk.PermissionResultAllow(updated_input=changed)))


@scenario(WRITE, calls("Write", file_path="two.txt", content="2"), "two files")
async def allow_with_suggestions(sdk: Sdk, stage: Stage) -> None:
    def accept(_: dict[str, Any], context: Any) -> Any:
        return sdk.PermissionResultAllow(updated_permissions=context.suggestions)

    await stage.ask("go", can_use_tool=answering(stage, accept))


@scenario(TOUCH, TOUCH, "both")
async def allow_with_a_rule(sdk: Sdk, stage: Stage) -> None:
    rule = sdk.types.PermissionRuleValue(tool_name="Bash", rule_content=None)
    update = sdk.PermissionUpdate(type="addRules", rules=[rule], behavior="allow", destination="session")
    accept = answering(stage, lambda *_: sdk.PermissionResultAllow(updated_permissions=[update]))
    await stage.ask("go", can_use_tool=accept)


@scenario(*MADE)
async def callback_that_raises(sdk: Sdk, stage: Stage) -> None:
    def fail(*_: Any) -> Any:
        raise ValueError("the callback is broken")

    await stage.ask("go", can_use_tool=answering(stage, fail))


@scenario(*MADE)
async def callback_with_a_wrong_answer(sdk: Sdk, stage: Stage) -> None:
    messages = await _kinds(stage, can_use_tool=answering(stage, lambda *_: "yes"))
    stage.see(messages, "kinds")


async def _kinds(stage: Stage, **options: Any) -> list[str]:
    """The classes of the messages: the text of an error of the SDK is its own."""
    async with stage.client(**options) as client:
        await client.query("go")
        return [type(message).__name__ async for message in client.receive_response()]


@scenario(*MADE)
async def callback_in_a_query(sdk: Sdk, stage: Stage) -> None:
    await stage.query(lines(user("go")), can_use_tool=allowing(stage))


@scenario(*MADE)
async def callback_in_a_query_with_text(sdk: Sdk, stage: Stage) -> None:
    with stage.failing():
        await stage.query("go", can_use_tool=allowing(stage))


@scenario(when("Blue it is.", tool_result="Blue"), calls("AskUserQuestion", questions=[QUESTION]))
async def question_answered(sdk: Sdk, stage: Stage) -> None:
    def answer(tool_input: dict[str, Any], _: Any) -> Any:
        return sdk.PermissionResultAllow(updated_input={**tool_input, "answers": {"Which colour?": "Blue"}})

    await stage.ask("go", can_use_tool=answering(stage, answer))


@scenario(calls("ExitPlanMode", plan="1. Dig."), "digging")
async def plan_approved(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go", permission_mode="plan", can_use_tool=allowing(stage))


@scenario(*MADE)
async def allowed_tools(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("go", allowed_tools=["Bash"])


@scenario("none")
async def disallowed_tools(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("is there a shell?", disallowed_tools=["Bash", "Write"])


@scenario("two")
async def list_of_tools(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("which?", tools=["Read", "Bash"])


@scenario("none")
async def no_tools(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("which?", tools=[])


@scenario("all")
async def preset_of_tools(sdk: Sdk, stage: Stage) -> None:
    await stage.ask("which?", tools={"type": "preset", "preset": "claude_code"})


@scenario("ready", WRITE, "written")
async def set_permission_mode(sdk: Sdk, stage: Stage) -> None:
    async with stage.client() as client:
        await stage.turn(client, "ready?")
        stage.see(await client.set_permission_mode("acceptEdits"), "mode")
        await stage.turn(client, "write")


@scenario(*MADE)
async def bypass_permissions(sdk: Sdk, stage: Stage) -> None:
    await stage.query("go", permission_mode="bypassPermissions")


@scenario(*MADE)
async def dont_ask_mode(sdk: Sdk, stage: Stage) -> None:
    await stage.query("go", permission_mode="dontAsk")


@scenario("never asked")
async def two_ways_to_ask(sdk: Sdk, stage: Stage) -> None:
    with stage.failing():
        await stage.ask("go", can_use_tool=allowing(stage), permission_prompt_tool_name="mcp__a__b")


@scenario(*MADE)
async def shadowed_callback_is_warned_about(sdk: Sdk, stage: Stage) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        await stage.ask("go", can_use_tool=allowing(stage), allowed_tools=["Bash"])
    stage.see([one.category.__name__ for one in caught if one.category.__name__.startswith("Can")], "warnings")
