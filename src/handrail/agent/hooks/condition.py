"""The `if` field of a hook: a permission rule that a tool call has to match.

A rule matches as a deny rule does. One part of a compound command is enough, and a command that cannot be analysed
matches: a hook that guards something had better run too often.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from handrail.files.resolve import Disk, anchors_of
from handrail.permissions.circumstances import Circumstances
from handrail.permissions.decide import decide
from handrail.permissions.rules.book import rules_about
from handrail.permissions.rules.rule import RuleError, parse_rule, read_rules

__all__ = ["applies", "problem_of"]

_ONE_TOOL: Final = frozenset({"Read", "Edit"})
"""As permission rules, these cover all tools that read or change files; as conditions, only the named tool."""


def problem_of(condition: str) -> str:
    """Why a condition is invalid; "" if it is valid."""
    try:
        parse_rule(condition)
    except RuleError as error:
        return f"`if` is not a permission rule: {error}"
    return ""


def applies(condition: str, given: Mapping[str, Any], cwd: str) -> bool:
    """Whether a tool call matches a valid condition. `given`: the input of the event."""
    tool, call = str(given.get("tool_name", "")), given.get("tool_input")
    rules = read_rules([condition], "deny", "session")
    if rules[0].rule.tool in _ONE_TOOL and tool != rules[0].rule.tool:
        return False
    if not any(rules_about(rules, "deny", tool)):
        return False
    if rules[0].rule.content is None:
        return True
    anchors = anchors_of(str(given.get("cwd") or cwd), project=cwd)
    # Under bypassPermissions only rules and safety checks remain, so nothing but the condition leads to a denial.
    circumstances = Circumstances(anchors, mode="bypassPermissions", rules=tuple(rules), bypass_available=True)
    fields: Mapping[str, Any] = cast("Mapping[str, Any]", call) if isinstance(call, Mapping) else {}
    decision = decide(tool, fields, circumstances, Disk(anchors))
    return any(step.rule is not None and step.behavior != "allow" for step in decision.steps) or (
        decision.rule is not None and decision.behavior != "allow"
    )
