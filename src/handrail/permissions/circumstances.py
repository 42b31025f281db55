"""What a decision depends on, and what it consists of. Data only.

`Circumstances` holds everything that is in force; `World` is the one way to ask about the disk.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from msgspec import Struct

from handrail.permissions.paths import Anchors, Resolved
from handrail.permissions.rules import Behavior, SourcedRule
from handrail.schema.permission_types import PermissionUpdate

__all__ = ["Circumstances", "Decision", "Step", "World", "by_rule", "strictest"]

_SAYS: Final[dict[Behavior, str]] = {"allow": "allows", "deny": "denies", "ask": "asks about"}
_SEVERITY: Final[dict[Behavior, int]] = {"allow": 0, "ask": 1, "deny": 2}


class World(Protocol):
    """What a decision may ask about the world."""

    def resolve(self, path: str) -> Resolved:
        """What the disk says about a path."""
        ...


class Circumstances(Struct, frozen=True):
    """What is in force when a tool is asked for."""

    anchors: Anchors
    mode: str = "default"
    rules: tuple[SourcedRule, ...] = ()
    bypass_available: bool = False
    """Whoever started the session made `bypassPermissions` possible; otherwise that mode is `default`."""
    can_prompt: bool = True
    """Somebody can be asked; otherwise what would ask is denied."""
    trusted: bool = True
    """The folder is trusted. Where it is not, git is asked for: even its status runs what the folder configures.

    What trust means for the folder's rules was settled when they were read."""


class Step(Struct, frozen=True):
    """One thing that was looked at: what it was, what it came to, and why."""

    subject: str
    behavior: Behavior
    reason: str
    reason_type: str = "other"
    rule: SourcedRule | None = None
    path: str | None = None


class Decision(Struct, frozen=True):
    """May it run, and why: the reason that decided, and every step on the way."""

    behavior: Behavior
    reason: str
    reason_type: str = "other"
    rule: SourcedRule | None = None
    steps: tuple[Step, ...] = ()
    suggestions: tuple[PermissionUpdate, ...] = ()
    blocked_path: str | None = None


def by_rule(subject: str, behavior: Behavior, rule: SourcedRule, what: str = "it") -> Step:
    """What a rule says of something. `what`: the word for it in the reason."""
    return Step(subject, behavior, f"the rule {rule.rule} {_SAYS[behavior]} {what}", "rule", rule)


def strictest(steps: Iterable[Step]) -> Step:
    """The step that decides: the first of the strictest."""
    return max(steps, key=lambda step: _SEVERITY[step.behavior])
