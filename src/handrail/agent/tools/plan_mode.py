"""EnterPlanMode, ExitPlanMode: thinking before doing. In: nothing, or the plan. Out: what may be done now.

The desk may have notes: `plans_folder` (where plans are kept), `plan_file` (the plan of this conversation), `set_mode`
(called with the permission mode that holds from now on), `mode_before_plan`.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct, field

from handrail.agent.journal import make_private
from handrail.agent.tools.base import JsonObject, Outcome, Tool
from handrail.agent.tools.refusal import files_explained
from handrail.files.errors import FileError
from handrail.files.open import Root

if TYPE_CHECKING:
    from handrail.agent.desk import Desk

__all__ = ["EnterPlanMode", "ExitPlanMode", "ExitPlanModeInput", "read_plan"]

_ENTERED = "Entered plan mode. Explore what there is and work out how to go about it; change nothing yet."


class EnterPlanModeInput(Struct, frozen=True):
    """Nothing needs to be said."""


class EnterPlanMode(Tool[EnterPlanModeInput]):
    """Begins to plan."""

    name = "EnterPlanMode"
    description = (
        "Begins to plan, for work that is large or can be done in several ways: you look around without changing "
        "anything, and the user sees your plan before you carry it out."
    )
    Input = EnterPlanModeInput

    async def run(self, given: EnterPlanModeInput, desk: Desk) -> Outcome:
        _set_mode(desk, "plan")
        steps = (
            "1. Read the code that matters, and find what is like it.\n2. Weigh several ways against each other.\n"
            "3. Ask with AskUserQuestion what only the user can decide.\n4. Present the plan with ExitPlanMode.\n\n"
            "Do not write or edit any file until the plan is approved."
        )
        return Outcome(f"{_ENTERED}\n\n{steps}", {"message": _ENTERED})


class ExitPlanModeInput(Struct, frozen=True):
    """The plan; it may also lie in the plan file already."""

    plan: Annotated[str | None, Meta(description="The plan, in Markdown.")] = None
    allowed_prompts: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]], name="allowedPrompts")


class ExitPlanMode(Tool[ExitPlanModeInput]):
    """Shows the plan to the human, and goes on to do it."""

    name = "ExitPlanMode"
    description = "Presents your plan to the user for approval. Once it is approved, you may carry it out."
    Input = ExitPlanModeInput

    def describe(self, given: ExitPlanModeInput) -> str:
        return (given.plan or "").strip().partition("\n")[0]

    async def run(self, given: ExitPlanModeInput, desk: Desk) -> Outcome:
        before = read_plan(desk)
        plan = given.plan if given.plan else before
        if plan and plan != before:
            _write_plan(desk, plan)
        _set_mode(desk, str(desk.notes.get("mode_before_plan") or "default"))
        detail: JsonObject = {"plan": plan or None, "isAgent": False}
        if path := _plan_file(desk):
            detail["filePath"] = path
        if before and plan != before:
            detail["planWasEdited"] = True
        if not plan:
            return Outcome("User has approved exiting plan mode. You can now proceed.", detail)
        saved = f" It is saved in {detail['filePath']}." if "filePath" in detail else ""
        return Outcome(f"User has approved your plan. You can now carry it out.{saved}\n\n## Plan\n{plan}", detail)


def _set_mode(desk: Desk, mode: str) -> None:
    change = desk.notes.get("set_mode")
    if callable(change):
        change(mode)


def _plan_file(desk: Desk) -> str:
    """Where the plan of this conversation lies; nothing where plans are not kept."""
    folder = desk.notes.get("plans_folder")
    if not desk.notes.get("plan_file") and folder:
        desk.notes["plan_file"] = os.path.join(str(folder), f"plan-{secrets.token_hex(4)}.md")
    return str(desk.notes.get("plan_file") or "")


def read_plan(desk: Desk) -> str:
    """The plan as it lies in its file; nothing where there is none."""
    path = _plan_file(desk)
    if path:
        with contextlib.suppress(FileError), Root(os.path.dirname(path)) as root:
            return root.read(os.path.basename(path), follow_links=False).decode("utf-8", "replace")
    return ""


def _write_plan(desk: Desk, plan: str) -> None:
    path = _plan_file(desk)
    if not path:
        return
    folder, name = os.path.split(path)
    with files_explained():
        make_private(Path(folder))
        with Root(folder) as root:
            root.write(name, plan.encode("utf-8", "replace"), follow_links=False, mode=0o600)
