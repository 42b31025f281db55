"""Permissions: asked, answered, remembered."""

from __future__ import annotations

from typing import Any

from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny, ToolPermissionContext
from stage import Stage, equal, never, scenario, turn


class Asked:
    """A callback that gives one answer and records the questions."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.questions: list[tuple[str, dict[str, Any], ToolPermissionContext]] = []

    async def __call__(self, tool_name: str, tool_input: dict[str, Any], context: ToolPermissionContext) -> Any:
        self.questions.append((tool_name, tool_input, context))
        return self.answer(tool_input, context) if callable(self.answer) else self.answer

    @property
    def names(self) -> list[str]:
        return [name for name, _, _ in self.questions]


@scenario
async def permission_allow(stage: Stage) -> None:
    asked = Asked(PermissionResultAllow())
    said = await stage.ask("go", can_use_tool=asked)
    ((name, tool_input, context),) = asked.questions
    equal((name, tool_input["command"]), ("Bash", "touch made.txt; echo it is made"))
    equal(context.tool_use_id, said.calls[0].id)
    equal((said.result.result, stage.made), ("I made it.", True))
    equal((said.tool_results[0].content, bool(said.tool_results[0].is_error)), ("it is made", False))


@scenario
async def permission_deny(stage: Stage) -> None:
    said = await stage.ask("go", can_use_tool=Asked(PermissionResultDeny(message="not today")))
    equal((said.result.result, stage.made), ("I understand.", False))
    equal(said.tool_results[0].is_error, True)
    (denial,) = said.result.permission_denials
    equal((denial["tool_name"], denial["tool_use_id"]), ("Bash", said.calls[0].id))


@scenario
async def permission_updated_input(stage: Stage) -> None:
    asked = Asked(PermissionResultAllow(updated_input={"command": "echo by the user"}))
    said = await stage.ask("go", can_use_tool=asked)
    equal((said.result.result, stage.made), ("changed", False))


@scenario
async def permission_suggestions(stage: Stage) -> None:
    asked = Asked(lambda _, context: PermissionResultAllow(updated_permissions=context.suggestions))
    said = await stage.ask("go", can_use_tool=asked)
    equal(asked.names, ["Write"])
    assert asked.questions[0][2].suggestions
    equal(sorted(path.name for path in stage.project.glob("*.txt")), ["one.txt", "two.txt"])
    equal(said.result.result, "two files")


@scenario
async def permission_interrupt(stage: Stage) -> None:
    said = await stage.ask("go", can_use_tool=Asked(PermissionResultDeny(message="not today", interrupt=True)))
    equal((said.result.subtype, said.text, stage.made), ("error_during_execution", "", False))


@scenario
async def question(stage: Stage) -> None:
    def choose(tool_input: dict[str, Any], _: Any) -> PermissionResultAllow:
        answers = {tool_input["questions"][0]["question"]: "Blue"}
        return PermissionResultAllow(updated_input={**tool_input, "answers": answers})

    asked = Asked(choose)
    said = await stage.ask("go", can_use_tool=asked)
    ((name, tool_input, _),) = asked.questions
    labels = [option["label"] for option in tool_input["questions"][0]["options"]]
    equal((name, labels), ("AskUserQuestion", ["Red", "Blue"]))
    equal(said.result.result, "Blue it is.")


@scenario
async def plan_mode(stage: Stage) -> None:
    asked = Asked(PermissionResultAllow())
    said = await stage.ask("plan it", can_use_tool=asked, permission_mode="plan")
    equal(said.init["permissionMode"], "plan")
    equal(asked.names, ["ExitPlanMode"])
    equal(said.result.result, "digging")


@scenario
async def allowed_tools(stage: Stage) -> None:
    said = await stage.ask("go", can_use_tool=never, allowed_tools=["Bash(touch:*)", "Bash(echo:*)"])
    equal((said.result.result, stage.made), ("I made it.", True))


@scenario
async def disallowed_tools(stage: Stage) -> None:
    said = await stage.ask("is there a shell", disallowed_tools=["Bash"])
    assert "Bash" not in said.init["tools"]
    assert "Read" in said.init["tools"]


@scenario
async def set_permission_mode(stage: Stage) -> None:
    async with stage.client(can_use_tool=never) as client:
        equal((await turn(client, "hello")).init["permissionMode"], "default")
        await client.set_permission_mode("acceptEdits")
        said = await turn(client, "write")
    equal((said.result.result, said.init["permissionMode"], stage.made), ("written", "acceptEdits", True))
