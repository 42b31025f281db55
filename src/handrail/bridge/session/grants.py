"""Permissions granted for a session: they end with the process, and can be granted again to the next one.

A renewed grant applies to one process only. These functions are pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from handrail.bridge.session.events import event
from handrail.bridge.store.base import NewEvent, SessionRecord

__all__ = ["BYPASS", "for_session", "lapse", "options_of", "renewed_grants"]

JsonObject = dict[str, Any]
BYPASS: Final = "bypassPermissions"
_ONCE: Final = frozenset({"bypass", "granted"})
"""Options of a record that apply to the next process only."""
_RULES: Final[Mapping[str, str]] = {"allow": "allowed_tools", "deny": "disallowed_tools"}


def for_session(updates: Iterable[JsonObject]) -> list[JsonObject]:
    """The updates that apply until the process ends."""
    return [update for update in updates if update.get("destination") == "session" and options_of([update])]


def options_of(updates: Iterable[JsonObject]) -> dict[str, Any]:
    """The SDK options with which a process starts with these updates applied."""
    found: dict[str, list[str]] = {}
    for update in updates:
        if update.get("type") in ("addRules", "replaceRules") and update.get("behavior") in _RULES:
            found.setdefault(_RULES[update["behavior"]], []).extend(map(_rule_text, update.get("rules", ())))
        elif update.get("type") == "addDirectories":
            found.setdefault("add_dirs", []).extend(map(str, update.get("directories", ())))
    return found


def renewed_grants(record: SessionRecord, *, running: bool) -> list[JsonObject]:
    """The updates for the next process that renew every lapsed grant; empty if none has lapsed.

    Renewing ends a running process, so the grants it has now are renewed with the others.
    """
    due = [*record.lapsed, *(record.rules if record.lapsed or not running else ())]
    return _deduplicated([*record.options.get("granted", ()), *due]) if due else []


def lapse(record: SessionRecord) -> tuple[JsonObject, list[NewEvent]]:
    """A new process starts: the changed fields of the record, and the event that reports what lapsed."""
    granted: list[JsonObject] = record.options.get("granted", [])
    ended = [rule for rule in record.rules if rule not in granted]
    mode = "default" if record.mode == BYPASS and not record.options.get("bypass") else record.mode
    now: JsonObject = {
        "rules": granted,
        "lapsed": _deduplicated([*record.lapsed, *ended]),
        "mode": mode,
        "options": {name: value for name, value in record.options.items() if name not in _ONCE},
    }
    reported = ({"rules": ended} if ended else {}) | ({"mode": record.mode} if mode != record.mode else {})
    changed = {name: value for name, value in now.items() if getattr(record, name) != value}
    return changed, [event("lapsed", **reported)] if reported else []


def _deduplicated(updates: list[JsonObject]) -> list[JsonObject]:
    return [update for n, update in enumerate(updates) if update not in updates[:n]]


def _rule_text(rule: JsonObject) -> str:
    content = rule.get("ruleContent")
    return f"{rule.get('toolName')}({content})" if content else str(rule.get("toolName"))
