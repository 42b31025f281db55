"""Applies permission updates from the wire in memory.

`handrail.settings` writes the updates that should last to their files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec
from msgspec import structs

from handrail.errors import CallerError
from handrail.permissions.modes import MODES
from handrail.permissions.paths.names import absolute, oddity, shown
from handrail.permissions.rules.rule import Behavior, Rule, RuleError, Scope, SourcedRule, parse_rule
from handrail.schema.permission_types import (
    UPDATE_FIELDS,
    PermissionMode,
    PermissionRuleValue,
    PermissionUpdate,
    PermissionUpdateDestination,
)

if TYPE_CHECKING:
    from handrail.permissions.circumstances import Circumstances, World

__all__ = [
    "FILE_SCOPES",
    "MEMORY_SCOPES",
    "READ_ONLY_SCOPES",
    "UpdateRefused",
    "apply",
    "apply_all",
    "read_updates",
    "rules_of",
]

MEMORY_SCOPES: Final[frozenset[Scope]] = frozenset({"session", "cliArg", "command"})
FILE_SCOPES: Final[frozenset[Scope]] = frozenset({"localSettings", "projectSettings", "userSettings"})
READ_ONLY_SCOPES: Final[frozenset[Scope]] = frozenset({"policySettings", "flagSettings"})
_BEHAVIORS: Final = frozenset(get_args(Behavior))
_WIRE_MODES: Final = frozenset(get_args(PermissionMode))
_DESTINATIONS: Final = frozenset(get_args(PermissionUpdateDestination))


class UpdateRefused(CallerError, ValueError):
    """The update cannot be carried out; the text says why. Nothing of it took effect."""


def read_updates(items: Any) -> list[PermissionUpdate]:
    """Read the updates of an answer. One invalid update invalidates them all: who sent it may have meant less.

    Nothing has a default here: a missing field or a content of null could mean more than was granted.
    """
    try:
        updates = msgspec.convert(items, list[PermissionUpdate])
    except msgspec.ValidationError:
        return []
    return updates if all(map(_is_complete, items, updates)) else []


def _is_complete(item: dict[str, Any], update: PermissionUpdate) -> bool:
    fields = UPDATE_FIELDS.get(item.get("type", ""))
    return (
        fields is not None
        and all(name in item for name in fields)
        and item.get("destination") in _DESTINATIONS
        and ("behavior" not in fields or update.behavior in _BEHAVIORS)
        and ("mode" not in fields or update.mode in _WIRE_MODES)
        and all(rule.get("ruleContent", "") is not None for rule in item.get("rules", ()))
    )


def apply(circumstances: Circumstances, update: PermissionUpdate, world: World | None = None) -> Circumstances:
    """Carry out one update, whole or not at all. With a world, added folders count in their real spelling too."""
    _check_scope(update.destination)
    change = _CHANGES.get(update.type)
    if change is None:
        raise UpdateRefused(f"unknown type of update: {shown(update.type)!r}; known are {', '.join(_CHANGES)}")
    return change(circumstances, update, world)


def apply_all(
    circumstances: Circumstances, updates: Iterable[PermissionUpdate], world: World | None = None
) -> tuple[Circumstances, list[str]]:
    """Apply the updates that are valid. Returns the new circumstances, and why the others were refused."""
    refused: list[str] = []
    for update in updates:
        try:
            circumstances = apply(circumstances, update, world)
        except UpdateRefused as error:
            refused.append(str(error))
    return circumstances, refused


def rules_of(update: PermissionUpdate) -> tuple[SourcedRule, ...]:
    """The rules of an update, each checked: written down and read again, it must be the same rule."""
    if update.behavior not in _BEHAVIORS:
        raise UpdateRefused(f"a rule can allow, deny or ask, not {shown(update.behavior)!r}")
    return tuple(
        SourcedRule(rule=_rule_of(value), behavior=update.behavior, scope=update.destination)  # type: ignore[arg-type]
        for value in update.rules
    )


def _check_scope(destination: str) -> None:
    if destination in READ_ONLY_SCOPES:
        raise UpdateRefused(f"{destination} can only be read: it is set by the administrator of this machine")
    if destination not in MEMORY_SCOPES | FILE_SCOPES:
        known = ", ".join(sorted(MEMORY_SCOPES | FILE_SCOPES))
        raise UpdateRefused(f"unknown destination of an update: {shown(destination)!r}; known are {known}")


def _rule_of(value: PermissionRuleValue) -> Rule:
    rule = Rule(tool=value.tool_name, content=value.rule_content)
    try:
        same = parse_rule(str(rule)) == rule
    except RuleError as error:
        raise UpdateRefused(f"{shown(str(rule))!r} is not a valid rule: {error}") from error
    if not same:
        raise UpdateRefused(f"{shown(str(rule))!r} would be read back as another rule")
    return rule


def _add_rules(circumstances: Circumstances, update: PermissionUpdate, world: World | None) -> Circumstances:
    known = {rule.rule for rule in circumstances.rules if _is_of(rule, update)}
    added = tuple(rule for rule in dict.fromkeys(rules_of(update)) if rule.rule not in known)
    return structs.replace(circumstances, rules=circumstances.rules + added)


def _replace_rules(circumstances: Circumstances, update: PermissionUpdate, world: World | None) -> Circumstances:
    others = tuple(rule for rule in circumstances.rules if not _is_of(rule, update))
    return structs.replace(circumstances, rules=others + tuple(dict.fromkeys(rules_of(update))))


def _remove_rules(circumstances: Circumstances, update: PermissionUpdate, world: World | None) -> Circumstances:
    gone = {rule.rule for rule in rules_of(update)}
    kept = tuple(rule for rule in circumstances.rules if not (_is_of(rule, update) and rule.rule in gone))
    return structs.replace(circumstances, rules=kept)


def _is_of(rule: SourcedRule, update: PermissionUpdate) -> bool:
    return (rule.scope, rule.behavior) == (update.destination, update.behavior)


def _set_mode(circumstances: Circumstances, update: PermissionUpdate, world: World | None) -> Circumstances:
    if update.mode not in MODES:
        raise UpdateRefused(f"unknown mode: {shown(update.mode)!r}; known are {', '.join(sorted(MODES))}")
    if update.mode == "bypassPermissions" and not circumstances.bypass_available:
        raise UpdateRefused("bypassPermissions must be made available when the session is started")
    if update.mode == "bypassPermissions" and update.destination not in MEMORY_SCOPES:
        raise UpdateRefused("bypassPermissions is never kept in a file; it ends with the session")
    return structs.replace(circumstances, mode=update.mode)


def _add_directories(circumstances: Circumstances, update: PermissionUpdate, world: World | None) -> Circumstances:
    added = _folders(circumstances, update, world)
    return _working_in(circumstances, dict.fromkeys([*circumstances.anchors.additional, *added]))


def _remove_directories(circumstances: Circumstances, update: PermissionUpdate, world: World | None) -> Circumstances:
    removed = set(_folders(circumstances, update, world))
    return _working_in(circumstances, [kept for kept in circumstances.anchors.additional if kept not in removed])


def _working_in(circumstances: Circumstances, folders: Iterable[str]) -> Circumstances:
    return structs.replace(circumstances, anchors=structs.replace(circumstances.anchors, additional=tuple(folders)))


def _folders(circumstances: Circumstances, update: PermissionUpdate, world: World | None) -> list[str]:
    """The folders of an update, absolute, each as it is written and as it really is."""
    anchors = circumstances.anchors
    for folder in update.directories:
        if not folder or oddity(folder):
            raise UpdateRefused(f"{shown(folder)!r} cannot be worked in: {oddity(folder) or 'it is empty'}")
    written = [absolute(folder, anchors.cwd, anchors.home) for folder in update.directories]
    real = [world.resolve(folder).real for folder in written] if world else []
    return [*written, *filter(None, real)]


_CHANGES: Final[Mapping[str, Callable[[Circumstances, PermissionUpdate, World | None], Circumstances]]] = {
    "addRules": _add_rules,
    "replaceRules": _replace_rules,
    "removeRules": _remove_rules,
    "setMode": _set_mode,
    "addDirectories": _add_directories,
    "removeDirectories": _remove_directories,
}
