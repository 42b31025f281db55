"""Selects the rules about a tool.

Deny and ask rules cover related tools; allow rules do not extend beyond the tool they name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from handrail.permissions.modes import CLASSES, ToolClass
from handrail.permissions.rules.rule import Behavior, SourcedRule

__all__ = ["rules_about"]

_COVERS: Final[dict[str, ToolClass]] = {"Read": "read", "Edit": "edit"}
"""A rule for Read or Edit means every tool of that class."""
_SAME: Final = {"Agent": "Task", "MultiEdit": "Edit", "SlashCommand": "Skill", "KillBash": "KillShell"}
_SERVER: Final = re.compile(r"mcp__(?P<server>(?:(?!__).)+)(?:__(?P<tool>.+))?")


def rules_about(rules: Sequence[SourcedRule], behavior: Behavior, *tools: str) -> Iterator[SourcedRule]:
    """The rules of one behaviour that mean one of these tools, in their order."""
    for rule in rules:
        if rule.behavior == behavior and not (behavior == "allow" and rule.broken):
            generous = behavior != "allow"
            if any(_means(rule.rule.tool, tool, generous=generous) for tool in tools):
                yield rule


def _means(named: str, tool: str, *, generous: bool) -> bool:
    if generous and named.casefold() == tool.casefold():
        return True
    if named == tool or _SAME.get(named, named) == _SAME.get(tool, tool):
        return True
    if named == "*":
        return generous
    if named in _COVERS:
        return CLASSES.get(tool) == _COVERS[named]
    if generous:
        return _may_mean(named.casefold(), tool.casefold())
    return named.startswith("mcp__") and _means_server(named, tool)


def _may_mean(named: str, tool: str) -> bool:
    """`mcp__server` may be any way to part a name into server and tool; a star stands for any ending."""
    beginning = named[:-1] if named.endswith("*") else named if named == "mcp__" else f"{named}__"
    return tool.startswith(beginning)


def _means_server(named: str, tool: str) -> bool:
    """`mcp__server`, `mcp__server__*`, `mcp__server__get_*`; a name with `__` twice may be another server's."""
    rule, asked = _SERVER.fullmatch(named), _SERVER.fullmatch(tool)
    if rule is None or asked is None or not asked["tool"] or rule["server"] != asked["server"]:
        return False
    if "__" in asked["tool"] or asked["tool"].startswith("_"):
        return False
    wanted = rule["tool"] or "*"
    return wanted.endswith("*") and asked["tool"].startswith(wanted[:-1])
