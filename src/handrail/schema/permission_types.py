"""Permissions on the wire: modes, rules, updates and suggestions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import msgspec

from handrail.schema.view import OpenUnion, Part, View

__all__ = [
    "SUGGESTIONS",
    "UPDATE_FIELDS",
    "PermissionBehavior",
    "PermissionMode",
    "PermissionRuleValue",
    "PermissionUpdate",
    "PermissionUpdateDestination",
    "PermissionUpdateType",
    "Suggestion",
    "SuggestionHint",
    "UnknownSuggestion",
    "read_suggestions",
]

PermissionMode = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto", "manual"]
PermissionBehavior = Literal["allow", "deny", "ask"]
PermissionUpdateDestination = Literal["userSettings", "projectSettings", "localSettings", "session", "cliArg"]
PermissionUpdateType = Literal[
    "addRules", "replaceRules", "removeRules", "setMode", "addDirectories", "removeDirectories"
]


class PermissionRuleValue(Part, rename="camel"):
    """A rule for a tool; without `rule_content` it applies to every call of the tool."""

    tool_name: str
    rule_content: str | None = None


class Suggestion(View):
    """A suggestion of the CLI: a permission to grant together with the call."""

    type: str = ""


class PermissionUpdate(Suggestion):
    """A change of the rules, of the mode, or of the working directories."""

    type: str = "addRules"
    rules: list[PermissionRuleValue] = msgspec.field(default_factory=list[PermissionRuleValue])
    behavior: str = "allow"
    mode: str = ""
    directories: list[str] = msgspec.field(default_factory=list[str])
    destination: str = "session"

    def to_wire(self) -> dict[str, Any]:
        """The update as the CLI reads it: all fields of its type, and no others."""
        rules = [_wire_rule(rule) for rule in self.rules]
        values = {"rules": rules, "behavior": self.behavior, "mode": self.mode, "directories": self.directories}
        return {
            "type": self.type,
            **{name: values[name] for name in UPDATE_FIELDS.get(self.type, ())},
            "destination": self.destination,
        }


UPDATE_FIELDS: Mapping[str, tuple[str, ...]] = {
    "addRules": ("rules", "behavior"),
    "replaceRules": ("rules", "behavior"),
    "removeRules": ("rules", "behavior"),
    "setMode": ("mode",),
    "addDirectories": ("directories",),
    "removeDirectories": ("directories",),
}
"""The fields of each type of update."""


def _wire_rule(rule: PermissionRuleValue) -> dict[str, str]:
    """A rule as the CLI reads it: `ruleContent` is left out if it is empty."""
    content = {} if rule.rule_content is None else {"ruleContent": rule.rule_content}
    return {"toolName": rule.tool_name, **content}


class SuggestionHint(Suggestion):
    """The suggestion of an older CLI: an answer and its reason."""

    behavior: str
    message: str = ""


class UnknownSuggestion(Suggestion):
    """A suggestion without a row in the table, or one that does not fit its row: then `problem` says why."""

    opaque: ClassVar[bool] = True
    problem: str = ""


SUGGESTIONS: OpenUnion[Suggestion] = OpenUnion(
    "type",
    {**dict.fromkeys(UPDATE_FIELDS, PermissionUpdate), "": SuggestionHint},
    lambda name, problem: UnknownSuggestion(type=name, problem=problem),
)


def read_suggestions(raw: bytes) -> list[Suggestion]:
    """Read the suggestions of a request; empty bytes are an empty list."""
    return SUGGESTIONS.read_list(raw)
