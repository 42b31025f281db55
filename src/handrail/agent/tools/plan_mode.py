"""EnterPlanMode, ExitPlanMode: planning before changes."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct, field

from handrail.agent.record.journal import make_private
from handrail.agent.tools.base import JsonObject, Outcome, Tool, ToolFailed, explain_file_errors
from handrail.files.errors import FileError
from handrail.files.open import Root

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk

__all__ = ["EnterPlanMode", "ExitPlanMode", "ExitPlanModeInput", "plan_file", "read_plan"]

_ENTERED = "Entered plan mode. Explore what there is and work out how to go about it; change nothing yet."

_NOT_PLANNING = "You are not in plan mode. Call EnterPlanMode first; if your plan is approved already, carry it out."


class EnterPlanModeInput(Struct, frozen=True):
    """No fields."""


class EnterPlanMode(Tool[EnterPlanModeInput]):
    """Enters plan mode."""

    name = "EnterPlanMode"
    description = """\
Begins to plan: you explore without changing anything, and the user approves the plan before you carry it out.

Use it for work that is large, touches many files, or can be done in ways that the user would want to choose from. Not \
for a small or obvious change, nor for a question."""
    Input = EnterPlanModeInput

    async def run(self, given: EnterPlanModeInput, desk: Desk) -> Outcome:
        desk.set_plan_mode(True)
        steps = (
            "1. Read the code that matters, and find what is like it.\n2. Weigh several ways against each other.\n"
            "3. Ask with AskUserQuestion what only the user can decide.\n4. Present the plan with ExitPlanMode.\n\n"
            "Do not write or edit any file until the plan is approved."
        )
        return Outcome(f"{_ENTERED}\n\n{steps}", {"message": _ENTERED})


class ExitPlanModeInput(Struct, frozen=True):
    """The plan, unless it is in the plan file already."""

    plan: Annotated[str | None, Meta(description="The plan, in Markdown.")] = None
    allowed_prompts: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]], name="allowedPrompts")


class ExitPlanMode(Tool[ExitPlanModeInput]):
    """Presents the plan to the user and leaves plan mode."""

    name = "ExitPlanMode"
    description = """\
Presents your plan to the user for approval. Once it is approved, you may carry it out.

Only in plan mode, when the plan is complete and open questions are answered; do not ask for approval in another way. \
If the user rejects it, change the plan as they say and present it again."""
    Input = ExitPlanModeInput
    strict = False

    def describe(self, given: ExitPlanModeInput) -> str:
        return (given.plan or "").strip().partition("\n")[0]

    async def check(self, given: ExitPlanModeInput, desk: Desk) -> None:
        if not desk.is_planning():
            raise ToolFailed(_NOT_PLANNING)

    async def run(self, given: ExitPlanModeInput, desk: Desk) -> Outcome:
        before = read_plan(desk)
        plan = given.plan if given.plan else before
        if plan and plan != before:
            _write_plan(desk, plan)
        desk.set_plan_mode(False)
        detail: JsonObject = {"plan": plan or None, "isAgent": False}
        if path := plan_file(desk):
            detail["filePath"] = path
        if before and plan != before:
            detail["planWasEdited"] = True
        if not plan:
            return Outcome("User has approved exiting plan mode. You can now proceed.", detail)
        saved = f" It is saved in {detail['filePath']}." if "filePath" in detail else ""
        return Outcome(f"User has approved your plan. You can now carry it out.{saved}\n\n## Plan\n{plan}", detail)


def plan_file(desk: Desk) -> str:
    """The file of this conversation's plan; "" if plans are not stored."""
    if not desk.state.plan_file and desk.plans_folder:
        desk.state.plan_file = os.path.join(desk.plans_folder, f"plan-{secrets.token_hex(4)}.md")
    return desk.state.plan_file


def read_plan(desk: Desk) -> str:
    """The content of the plan file; "" if it does not exist."""
    path = plan_file(desk)
    if path:
        with contextlib.suppress(FileError), Root(os.path.dirname(path)) as root:
            return root.read(os.path.basename(path), follow_links=False).decode("utf-8", "replace")
    return ""


def _write_plan(desk: Desk, plan: str) -> None:
    path = plan_file(desk)
    if not path:
        return
    folder, name = os.path.split(path)
    with explain_file_errors():
        make_private(Path(folder))
        with Root(folder) as root:
            root.write(name, plan.encode("utf-8", "replace"), follow_links=False, mode=0o600)
