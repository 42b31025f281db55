"""What a decision depends on, and what it consists of. Data only.

`Circumstances` holds everything that is in force; `World` is the one way to ask about the disk.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, Protocol

from msgspec import Struct

from handrail.permissions.paths.matching import Anchors, Resolved
from handrail.permissions.rules.rule import Behavior, SourcedRule
from handrail.schema.permission_types import PermissionUpdate

__all__ = ["CageUse", "Circumstances", "Decision", "Step", "World", "by_rule", "strictest"]

CageUse = Literal["", "may", "must"]
"""How a part of a command relates to the cage, in which a command can only read the working folders.

`may`: it only reads, so it works in the cage too. `must`: it is harmless only in the cage. Empty: it needs more than
the cage permits, because a rule, a mode or a person allowed it to do more than read.
"""

_SAYS: Final[dict[Behavior, str]] = {"allow": "allows", "deny": "denies", "ask": "asks about"}
_SEVERITY: Final[dict[Behavior, int]] = {"allow": 0, "ask": 1, "deny": 2}


class World(Protocol):
    """What a decision may ask about the world."""

    def resolve(self, path: str) -> Resolved:
        """What the disk says about a path."""
        ...

    def names(self, folder: str) -> tuple[str, ...] | None:
        """The names in a folder, in no order; none if it is missing, and None if there are too many to look at."""
        ...

    def is_plain(self, folder: str) -> bool:
        """Whether a folder holds no links at any depth, and no name with blanks, quotes or a leading dash.

        False if it is too large to look at as a whole.
        """
        ...


class Circumstances(Struct, frozen=True):
    """What is in force when a tool is asked for."""

    anchors: Anchors
    mode: str = "default"
    rules: tuple[SourcedRule, ...] = ()
    bypass_available: bool = False
    """The session was started with `bypassPermissions` available; otherwise that mode is `default`."""
    can_prompt: bool = True
    """Someone can be asked; otherwise a decision to ask becomes a denial."""
    trusted: bool = True
    """The folder is trusted. Otherwise git is asked for: even its status runs programs that the folder configures.

    What trust means for the folder's rules was settled when they were read."""
    cage: bool = False
    """Caged commands will run in the cage, so commands that are harmless only there are allowed."""
    folder: str = ""
    """The folder of the shell, if an earlier command left the working folder with `cd`. Rules still mean the latter."""
    reads: bool = False
    """The server of an MCP tool says that the tool only reads."""


class Step(Struct, frozen=True):
    """One thing that was looked at: what it was, what it came to, and why."""

    behavior: Behavior
    reason: str
    reason_type: str = "other"
    rule: SourcedRule | None = None
    path: str | None = None
    cage: CageUse = ""
    subject: str = ""
    """A command, a file or a tool."""


class Decision(Struct, frozen=True):
    """May it run, and why: the reason that decided, and every step on the way."""

    behavior: Behavior
    reason: str
    reason_type: str = "other"
    rule: SourcedRule | None = None
    steps: tuple[Step, ...] = ()
    suggestions: tuple[PermissionUpdate, ...] = ()
    blocked_path: str | None = None
    caged: bool = False
    """The command is allowed only because it reads: run it in the cage if there is one.

    True for no decision but `allow`, and never if a rule, a mode or a hook allowed a part of the command. With
    `Circumstances.cage` a command may be allowed that is harmless only in the cage; never run it outside."""


def by_rule(behavior: Behavior, rule: SourcedRule, *, subject: str = "", what: str = "it") -> Step:
    """What a rule says of something. `what`: the word for it in the reason."""
    return Step(behavior, f"the rule {rule.rule} {_SAYS[behavior]} {what}", "rule", rule, subject=subject)


def strictest(steps: Iterable[Step]) -> Step:
    """The step that decides: the first of the strictest."""
    return max(steps, key=lambda step: _SEVERITY[step.behavior])
