"""Skill: loads instructions for a kind of work by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

from msgspec import Meta, Struct

from handrail.agent.slash_commands.expansion import expansion_of
from handrail.agent.tools.base import JsonObject, Outcome, Tool, ToolFailed

if TYPE_CHECKING:
    from handrail.agent.extensions.command import Command
    from handrail.agent.slash_commands.commands import Commands
    from handrail.agent.tools.desk import Desk

__all__ = ["Report", "Skill", "SkillInput"]

LISTED: Final = 15_000
"""Characters of names and descriptions that go into every request."""
_ABOUT: Final = (
    "Loads a skill: instructions for a kind of work, written by the user or a plugin. Load one when the work at hand is"
    " what its description says, before you begin, and follow it. Skills are not tools and cannot be called by name."
)


class SkillInput(Struct, frozen=True):
    """Which skill."""

    skill: Annotated[str, Meta(min_length=1, description="The name of the skill, with its plugin if it has one")]
    args: Annotated[str, Meta(description="Arguments for the skill")] = ""


class Report(Struct, frozen=True):
    """The last message of a subagent that ran a skill."""

    agent_id: str
    text: str


Fork = Callable[["Command", str, "Desk"], Awaitable[Report]]
"""Runs a skill in a subagent: the skill, its text with the arguments, and the desk of the call."""


class Skill(Tool[SkillInput]):
    """Loads a skill, or runs it in a subagent (`context: fork`).

    Its grants are for the thread of the call, until the turn ends. Its shell lines run only if the user calls it.
    """

    name = "Skill"
    Input = SkillInput
    strict = False
    concurrent: ClassVar[bool] = True

    def __init__(self, commands: Commands, fork: Fork) -> None:
        self._commands, self._fork = commands, fork

    @property
    def description(self) -> str:  # type: ignore[override]
        """The description, with a list of the current skills."""
        rows = [
            f"- {skill.name}: {skill.description}{f' - {skill.when}' if skill.when else ''}"
            for skill in self._skills().values()
        ]
        return f"{_ABOUT}\n\nSkills:\n{_within(rows)}" if rows else f"{_ABOUT}\n\nNo skills are available now."

    def _skills(self) -> dict[str, Command]:
        return {skill.name: skill for skill in self._commands.for_model()}

    def describe(self, given: SkillInput) -> str:
        return f"Load the skill {given.skill}"

    def is_harmless(self, given: SkillInput) -> bool:
        """A skill without powers is text: its calls need the same permissions as without it."""
        return self._find(given.skill).harmless

    async def check(self, given: SkillInput, desk: Desk) -> None:
        self._find(given.skill)

    def _find(self, name: str) -> Command:
        known = self._skills()
        found = known.get(name.strip().removeprefix("/"))
        if found is None:
            raise ToolFailed(f"Unknown skill: {name[:80]}. There are: {', '.join(known) or 'none'}")
        return found

    async def run(self, given: SkillInput, desk: Desk) -> Outcome:
        skill = self._find(given.skill)
        expansion = expansion_of(skill, given.args)
        detail: JsonObject = {"success": True, "commandName": skill.name}
        if skill.forks:
            report = await self._fork(skill, expansion.text, desk)
            detail |= {"status": "forked", "agentId": report.agent_id, "result": report.text}
            return Outcome(f'Skill "{skill.name}" completed (forked execution).\n\nResult:\n{report.text}', detail)
        if expansion.grants:
            detail["allowedTools"] = list(expansion.grants)
        return Outcome(f"Launching skill: {skill.name}", detail, follow_up=expansion.text, grants=expansion.grants)


def _within(rows: list[str]) -> str:
    """As many rows as fit, then the number of the others."""
    kept: list[str] = []
    room = LISTED
    for row in rows:
        room -= len(row)
        if room < 0:
            return "\n".join([*kept, f"- and {len(rows) - len(kept)} more, which may be loaded by name"])
        kept.append(row)
    return "\n".join(kept)
