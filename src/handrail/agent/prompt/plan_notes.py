"""Plan mode, explained to the model in notes beside prompts.

The system prompt stays the same in every mode: changing it would make the API read the whole conversation again.
"""

from __future__ import annotations

from typing import Final

__all__ = ["PlanNotes"]

_FULL: Final = """\
<system-reminder>
Plan mode is on: the user wants a plan before anything changes. Until the plan is approved, edit no file, run no \
command that changes something, and change no setting.

How to work:
1. Explore. Read the code that is concerned and look for what can be reused; use Explore subagents for wide searches.
2. Design. Weigh the ways to do it, and check the chosen one against the code.
3. Ask with AskUserQuestion what only the user can decide. Do not ask whether the plan is good: step 4 does that.
4. Hand over the plan with ExitPlanMode: the goal, the steps with the files they touch, how to check the result.{file}

End a turn only with a question to the user or with ExitPlanMode.{more}
</system-reminder>"""
_SHORT: Final = """\
<system-reminder>
Plan mode is still on: change nothing. End with a question or with ExitPlanMode.
</system-reminder>"""
_OVER: Final = """\
<system-reminder>
Plan mode has ended. You may edit files and run commands again.
</system-reminder>"""
_AGAIN: Final = 5
"""Every so many prompts the instructions are given in full again."""


class PlanNotes:
    """The notes of one session."""

    def __init__(self) -> None:
        self._prompts = 0
        """Prompts since plan mode was entered; 0 outside of it."""

    def start_over(self) -> None:
        """Give the next instructions in full: the model has left plan mode itself, or sees no earlier ones any more."""
        self._prompts = 0

    def beside_prompt(self, mode: str, *, plan_file: str = "", instructions: str = "") -> str:
        """The note for a prompt in this mode; "" for none. `instructions` are those of the host for plan mode."""
        if mode != "plan":
            was_on, self._prompts = self._prompts > 0, 0
            return _OVER if was_on else ""
        self._prompts += 1
        if self._prompts % _AGAIN == 1:
            file = f" It is saved in {plan_file}, where you can read it again." if plan_file else ""
            return _FULL.format(file=file, more=f"\n\n{instructions}" if instructions else "")
        return _SHORT
