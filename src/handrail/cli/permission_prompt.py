"""Permission prompts at the terminal.

One prompt is on the screen at a time, and nothing else is printed meanwhile. Only an input that was shown can be
allowed: an edited input is shown again first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from handrail.cli.edit_text import edit_text
from handrail.cli.terminal import Interrupted, Terminal, one_line
from handrail.cli.tool_lines import StyledLine, input_lines, key_argument, tool_label
from handrail.client.callbacks import Allow, Deny, PermissionRequest
from handrail.permissions.updates.breadth import update_breadth
from handrail.schema.permission_types import PermissionUpdate

__all__ = ["STOPPED", "PermissionPrompt"]

SHOWN_LINES = 40
STOPPED = "The user stopped the turn."
REFUSED = "The user did not allow this."
BAR = "┃ "
DESTINATIONS = {
    "session": "in this session",
    "localSettings": "always in this project, for you: .claude/settings.local.json",
    "projectSettings": "always in this project, for everyone: .claude/settings.json",
    "userSettings": "always in all your projects: ~/.claude/settings.json",
    "cliArg": "while this command runs",
}


class PermissionPrompt:
    """One prompt, repeated until it is answered. `plan` is the plan to approve, for a prompt about a plan."""

    def __init__(self, terminal: Terminal, asked: PermissionRequest, *, cwd: str = "", plan: str | None = None) -> None:
        self._terminal = terminal
        self._asked = asked
        self._cwd = cwd
        self._plan = plan
        self._input: Mapping[str, Any] = asked.input
        # An update that the engine has no words for cannot be granted, so it is not offered.
        known = [update for update in asked.suggestions if isinstance(update, PermissionUpdate)]
        self._updates = [update for update in known if update_breadth(update)]
        self._answer: Allow | Deny | None = None

    async def ask(self) -> Allow | Deny:
        """Return the decision. Ctrl-C and Ctrl-D deny, and Ctrl-C also stops the turn."""
        self._show(SHOWN_LINES)
        try:
            while self._answer is None:
                line = await self._terminal.read_line(
                    "Go ahead with the plan? " if self._plan is not None else "Allow? "
                )
                if line is None:
                    return Deny(REFUSED)
                await self._take(line.strip())
        except Interrupted:
            return Deny(STOPPED, interrupt=True)
        return self._answer

    # On the screen
    def _show(self, limit: int) -> None:
        terminal, asked = self._terminal, self._asked
        terminal.start_line()
        self._say("")
        who = f" (a subagent, {asked.agent_id})" if asked.agent_id else ""
        self._bar([(one_line(f"{self._title()}{who}", terminal.width - 4), "bold")])
        edited = self._input is not asked.input
        self._bar([("as edited:", "yellow")] if edited else [])
        self._show_lines(self._lines(), limit)
        if asked.decision_reason:
            self._bar([("", ""), (one_line(f"asked because: {asked.decision_reason}", 400), "yellow")])
        self._show_choices()
        terminal.forget_typed()

    def _title(self) -> str:
        name = self._asked.tool_name
        if self._plan is not None:
            return "The plan"
        if name == "Bash":  # the command itself follows in full
            return f"Bash: {self._asked.description}" if self._asked.description else "Bash"
        return f"{tool_label(name)} {key_argument(name, self._input, self._cwd)}".strip()

    def _lines(self) -> list[StyledLine]:
        if self._plan is not None:
            return [(line, "") for line in self._plan.split("\n")]
        return input_lines(self._asked.tool_name, self._input)

    def _show_lines(self, lines: list[StyledLine], limit: int) -> None:
        self._bar(lines[:limit])
        if len(lines) > limit:
            self._bar([(f"… {len(lines) - limit} more lines; v shows them all", "yellow")])

    def _show_choices(self) -> None:
        plan = self._plan is not None
        self._say("")
        self._choice("y", "yes, carry it out" if plan else "yes, this once")
        for number, update in enumerate(self._updates, 1):
            self._choice(f"a{number}", f"yes, and from now on: {update_breadth(update)}", _aside(update))
        self._choice("n", "no, go on planning" if plan else "no", "`n REASON` tells the model why")
        if not plan:
            self._choice("e", "edit the input first")
        self._choice("q", "no, and stop the turn")

    def _choice(self, key: str, text: str, aside: str = "") -> None:
        terminal = self._terminal
        terminal.write(f"  {key:<3}", "cyan", stream=terminal.asks)
        terminal.write(one_line(text, 200), stream=terminal.asks)
        terminal.write(f"  ({one_line(aside, 120)})" if aside else "", "dim", stream=terminal.asks)
        terminal.write("", end="\n", stream=terminal.asks)

    def _bar(self, lines: Iterable[StyledLine]) -> None:
        for text, style in lines:
            self._terminal.write(BAR, "yellow", stream=self._terminal.asks)
            styles = (style,) if style else ()
            self._terminal.write(text.replace("\n", "\\n"), *styles, end="\n", stream=self._terminal.asks)

    def _say(self, text: str, *styles: str) -> None:
        self._terminal.write(text, *styles, end="\n", stream=self._terminal.asks)

    # What was typed
    async def _take(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        key = word[:1].lower()
        if key == "a" and (word[1:].isdecimal() or not word[1:]):
            self._allow_with(word[1:] or rest.strip())
        elif word.lower() in ("n", "no"):
            await self._deny(rest.strip())
        elif word.lower() == "e" and self._plan is None:
            await self._edit()
        elif not rest and (choose := self._choices().get(word.lower())) is not None:
            choose()
        else:
            self._say(f"Please type one of {', '.join(self._keys())}.", "yellow")

    def _choices(self) -> dict[str, Callable[[], None]]:
        return {
            **dict.fromkeys(("y", "yes"), self._allow),
            "q": self._stop,
            "v": lambda: self._show(10**9),
        }

    def _keys(self) -> list[str]:
        edit = ["e"] if self._plan is None else []
        return ["y", *(f"a{number}" for number in range(1, len(self._updates) + 1)), "n", *edit, "q"]

    def _allow(self, *updates: PermissionUpdate) -> None:
        edited = self._input if self._input is not self._asked.input else None
        self._answer = Allow(input=edited, updates=updates)

    def _allow_with(self, number: str) -> None:
        if not number and len(self._updates) == 1:
            number = "1"
        if number.isdecimal() and 1 <= int(number) <= len(self._updates):
            self._allow(self._updates[int(number) - 1])
        elif self._updates:
            self._say(f"Which one? {', '.join(self._keys()[1 : 1 + len(self._updates)])}", "yellow")
        else:
            self._say("The CLI suggests no rule for this; y allows it once.", "yellow")

    async def _deny(self, reason: str) -> None:
        if not reason:
            reason = (await self._terminal.read_line("Why? (Enter for no reason) ") or "").strip()
        self._answer = Deny(reason or REFUSED)

    def _stop(self) -> None:
        self._answer = Deny(STOPPED, interrupt=True)

    async def _edit(self) -> None:
        before = json.dumps(self._input, ensure_ascii=False, indent=2)
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if editor:
            text = await edit_text(before, editor)
        else:
            self._say("$EDITOR is not set; type the whole input as JSON on one line (Enter changes nothing):", "dim")
            self._say(json.dumps(self._input, ensure_ascii=False))
            text = await self._terminal.read_line("JSON: ")
        if not text or not text.strip() or text.strip() == before:
            self._say("Nothing was changed.", "dim")
            return
        try:
            edited = json.loads(text)
        except (ValueError, RecursionError) as error:
            self._say(f"That is not JSON ({error}); nothing was changed.", "yellow")
            return
        if not isinstance(edited, dict):
            self._say("The input must be a JSON object; nothing was changed.", "yellow")
            return
        self._input = cast("dict[str, Any]", edited)
        self._show(SHOWN_LINES)


def _aside(update: PermissionUpdate) -> str:
    """How long the update lasts. The words for a mode say so themselves."""
    if update.type == "setMode":
        return f"mode {update.mode}"
    return DESTINATIONS.get(update.destination, f"saved in {update.destination}")
