"""What a new process no longer has of what was granted to the last one. In: a record. Out: what changes. Pure.

What was granted for the session ends with its process. It can be granted again, to the next process and to no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from handrail.bridge.session.events import event
from handrail.bridge.store.base import NewEvent, SessionRecord

__all__ = ["BYPASS", "for_session", "granted_again", "lapse", "options_of"]

JsonObject = dict[str, Any]
BYPASS: Final = "bypassPermissions"
_ONCE: Final = frozenset({"bypass", "granted"})
"""Of the options of a record: what was chosen for the next process alone."""
_RULES: Final[Mapping[str, str]] = {"allow": "allowed_tools", "deny": "disallowed_tools"}


def for_session(updates: Iterable[JsonObject]) -> list[JsonObject]:
    """The updates that put something in force until the process ends."""
    return [one for one in updates if one.get("destination") == "session" and options_of([one])]


def options_of(updates: Iterable[JsonObject]) -> dict[str, Any]:
    """What a process is started with that has these in force, by the names of the SDK's options."""
    found: dict[str, list[str]] = {}
    for update in updates:
        if update.get("type") in ("addRules", "replaceRules") and update.get("behavior") in _RULES:
            found.setdefault(_RULES[update["behavior"]], []).extend(map(_in_words, update.get("rules", ())))
        elif update.get("type") == "addDirectories":
            found.setdefault("add_dirs", []).extend(map(str, update.get("directories", ())))
    return found


def granted_again(record: SessionRecord, *, running: bool) -> list[JsonObject]:
    """What the next process is to have in force, so that all that lapsed, or will, is granted again; [] for nothing."""
    due = [*record.lapsed, *(record.rules if record.lapsed or not running else ())]
    return _without_doubles([*record.options.get("granted", ()), *due]) if due else []


def lapse(record: SessionRecord) -> tuple[JsonObject, list[NewEvent]]:
    """A process is about to start. Out: new fields of the record, and what to tell."""
    granted: list[JsonObject] = record.options.get("granted", [])
    gone = [rule for rule in record.rules if rule not in granted]
    mode = "default" if record.mode == BYPASS and not record.options.get("bypass") else record.mode
    now: JsonObject = {
        "rules": granted,
        "lapsed": _without_doubles([*record.lapsed, *gone]),
        "mode": mode,
        "options": {name: value for name, value in record.options.items() if name not in _ONCE},
    }
    told = ({"rules": gone} if gone else {}) | ({"mode": record.mode} if mode != record.mode else {})
    changed = {name: value for name, value in now.items() if getattr(record, name) != value}
    return changed, [event("lapsed", **told)] if told else []


def _without_doubles(updates: list[JsonObject]) -> list[JsonObject]:
    return [one for n, one in enumerate(updates) if one not in updates[:n]]


def _in_words(rule: JsonObject) -> str:
    content = rule.get("ruleContent")
    return f"{rule.get('toolName')}({content})" if content else str(rule.get("toolName"))
