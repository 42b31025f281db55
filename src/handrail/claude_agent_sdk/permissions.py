"""Permission modes, rules and updates, and the answers of a `can_use_tool` callback."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from handrail.schema.permission_types import UPDATE_FIELDS

__all__ = [
    "CanUseTool",
    "CanUseToolShadowedWarning",
    "PermissionBehavior",
    "PermissionMode",
    "PermissionResult",
    "PermissionResultAllow",
    "PermissionResultDeny",
    "PermissionRuleValue",
    "PermissionUpdate",
    "PermissionUpdateDestination",
    "ToolPermissionContext",
]

PermissionMode = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto"]
PermissionBehavior = Literal["allow", "deny", "ask"]
PermissionUpdateDestination = Literal["userSettings", "projectSettings", "localSettings", "session"]


class CanUseToolShadowedWarning(UserWarning):
    """The options allow a tool before `can_use_tool` is asked about it."""


@dataclass
class PermissionRuleValue:
    """A rule such as `Bash(git status)`; without `rule_content` it is about every use of the tool."""

    tool_name: str
    rule_content: str | None = None


@dataclass
class PermissionUpdate:
    """A change of the permission rules, the mode or the additional directories."""

    type: Literal["addRules", "replaceRules", "removeRules", "setMode", "addDirectories", "removeDirectories"]
    rules: list[PermissionRuleValue] | None = None
    behavior: PermissionBehavior | None = None
    mode: PermissionMode | None = None
    directories: list[str] | None = None
    destination: PermissionUpdateDestination | None = None

    def to_dict(self) -> dict[str, Any]:
        """In wire form: only the fields that this type of update uses."""
        wire: dict[str, Any] = {"type": self.type}
        if self.destination is not None:
            wire["destination"] = self.destination
        for name in UPDATE_FIELDS[self.type]:
            value = getattr(self, name)
            if value is not None:
                wire[name] = [_rule_to_wire(rule) for rule in value] if name == "rules" else value
        return wire

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "PermissionUpdate":
        """From wire form. Raises KeyError without a `type`; unknown keys are ignored."""
        rules = data.get("rules")
        return cls(
            data["type"],
            rules=None if rules is None else [_rule_from_wire(rule) for rule in rules],
            behavior=data.get("behavior"),
            mode=data.get("mode"),
            directories=data.get("directories"),
            destination=data.get("destination"),
        )


def _rule_to_wire(rule: PermissionRuleValue) -> dict[str, Any]:
    return {"toolName": rule.tool_name, "ruleContent": rule.rule_content}


def _rule_from_wire(rule: Mapping[str, Any]) -> PermissionRuleValue:
    return PermissionRuleValue(rule["toolName"], rule.get("ruleContent"))


@dataclass
class ToolPermissionContext:
    """What the CLI says about a permission request. `signal` is always None: a withdrawn request cancels the callback.

    `suggestions` are updates that the user may accept with the tool, for example to allow it from now on.
    """

    signal: Any | None = None
    suggestions: list[PermissionUpdate] = field(default_factory=list[PermissionUpdate])
    tool_use_id: str | None = None
    agent_id: str | None = None
    blocked_path: str | None = None
    decision_reason: str | None = None
    title: str | None = None
    display_name: str | None = None
    description: str | None = None


@dataclass
class PermissionResultAllow:
    """Run the tool, with its own input unless `updated_input` is given, and apply `updated_permissions`."""

    behavior: Literal["allow"] = "allow"
    updated_input: dict[str, Any] | None = None
    updated_permissions: list[PermissionUpdate] | None = None


@dataclass
class PermissionResultDeny:
    """Do not run the tool; the model receives `message`. With `interrupt` the turn ends too."""

    behavior: Literal["deny"] = "deny"
    message: str = ""
    interrupt: bool = False


PermissionResult = PermissionResultAllow | PermissionResultDeny
CanUseTool = Callable[[str, dict[str, Any], ToolPermissionContext], Awaitable[PermissionResult]]
