"""Answers permission requests, questions and plans of the CLI while a command runs.

At a terminal a person answers. Elsewhere everything is denied, and a note says how it could have been allowed.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from handrail.cli.permission_prompt import PermissionPrompt
from handrail.cli.question_form import QuestionForm
from handrail.cli.terminal import Terminal, one_line
from handrail.cli.tool_lines import key_argument, tool_label
from handrail.cli.turn_view import TurnView
from handrail.client.callbacks import Allow, Deny, PermissionRequest
from handrail.permissions.rules.rule import Rule
from handrail.schema.permission_types import PermissionUpdate
from handrail.schema.questions import Question

__all__ = ["Answers"]

T = TypeVar("T")
NOBODY = "No one can approve this here, so it was not run. Do not retry it; say which permission you need."
NOBODY_ANSWERS = "No one can answer here. Decide yourself, and say what you decided."
WITHDRAWN = "(the question was withdrawn)"


class Answers:
    """The callbacks of one session. `nobody` is the reason why no person can be asked, or ""."""

    def __init__(self, terminal: Terminal, view: TurnView, *, nobody: str = "") -> None:
        self._terminal = terminal
        self._view = view
        self._nobody = nobody
        self._arrived = asyncio.Semaphore(0)
        self.stopped = False
        """Whether the person chose to stop the turn."""

    def options(self) -> dict[str, Any]:
        """The callbacks, by the option each belongs to."""
        return {
            "can_use_tool": self._can_use_tool,
            "answer_questions": self._answer_questions,
            "approve_plan": self._approve_plan,
        }

    def arrived(self) -> None:
        """Everything before the next question has been shown, so it may be asked now."""
        self._arrived.release()

    @asynccontextmanager
    async def _screen(self) -> AsyncGenerator[None]:
        """Wait until it is this question's turn, and keep the screen while it is asked."""
        await self._arrived.acquire()
        async with self._terminal.lock:
            try:
                yield
            except asyncio.CancelledError:
                self._terminal.line(WITHDRAWN, "dim", stream=self._terminal.asks)
                raise

    async def _can_use_tool(self, asked: PermissionRequest) -> Allow | Deny:
        async with self._screen():
            if self._nobody:
                self._tell_denied(asked)
                return Deny(NOBODY)
            return self._noted(await PermissionPrompt(self._terminal, asked, cwd=self._view.cwd).ask())

    async def _approve_plan(self, asked: PermissionRequest) -> Allow | Deny:
        async with self._screen():
            if self._nobody:
                self._tell_denied(asked)
                return Deny(NOBODY)
            prompt = PermissionPrompt(self._terminal, asked, cwd=self._view.cwd, plan=self._plan(asked))
            return self._noted(await prompt.ask())

    def _plan(self, asked: PermissionRequest) -> str:
        """The plan: in the request, or in the call it belongs to."""
        call = self._view.tools.get(asked.tool_use_id)
        inputs: list[Mapping[str, Any]] = [asked.input, call.input if call else {}]
        found = next((plan for input in inputs if isinstance(plan := input.get("plan"), str)), "")
        return found or "(the CLI did not say what the plan is)"

    async def _answer_questions(self, questions: list[Question]) -> Any:
        async with self._screen():
            if self._nobody:
                about = "; ".join(question.question for question in questions)
                self._note(f"not answered ({self._nobody}): {about}")
                return Deny(NOBODY_ANSWERS)
            return self._noted(await QuestionForm(self._terminal, questions).ask())

    def _noted(self, answer: T) -> T:
        self.stopped = self.stopped or (isinstance(answer, Deny) and answer.interrupt)
        return answer

    def _tell_denied(self, asked: PermissionRequest) -> None:
        what = f"{tool_label(asked.tool_name)} {key_argument(asked.tool_name, asked.input, self._view.cwd)}".strip()
        known = [update for update in asked.suggestions if isinstance(update, PermissionUpdate)]
        rules = [Rule(rule.tool_name, rule.rule_content) for update in known for rule in update.rules]
        rule = str(rules[0]) if len(rules) == 1 else asked.tool_name
        self._note(f"denied: {one_line(what, 120)} ({self._nobody}); --allow '{one_line(rule, 120)}' would allow it")

    def _note(self, text: str) -> None:
        self._terminal.start_line()
        self._terminal.write(f"handrail: {one_line(text, 400)}", "yellow", end="\n", stream=sys.stderr)
