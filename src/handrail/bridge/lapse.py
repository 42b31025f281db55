"""What a new process no longer has of what the last one was granted. In: a record, options. Out: what changes. Pure."""

from __future__ import annotations

from typing import Any

from handrail.bridge.event_log.base import NewEvent
from handrail.bridge.events import event
from handrail.bridge.session_index.base import SessionRecord
from handrail.client.options import Options

__all__ = ["allowed_again", "lapse"]

JsonObject = dict[str, Any]


def lapse(record: SessionRecord, options: Options) -> tuple[JsonObject, list[NewEvent]]:
    """Compare what was in force with how the process was started. Out: new fields of the record, and what to tell."""
    now: JsonObject = {
        "rules": [],
        "lapsed": [*record.lapsed, *(rule for rule in record.rules if rule not in record.lapsed)],
        "mode": options.permission_mode or "default",
        "trusted": "project" in (options.setting_sources or ()),
    }
    changed = {name: value for name, value in now.items() if getattr(record, name) != value}
    gone = ({"rules": record.rules} if record.rules else {}) | ({"mode": record.mode} if "mode" in changed else {})
    return changed, [event("lapsed", **gone)] if gone else []


def allowed_again(lapsed: list[JsonObject]) -> list[str]:
    """The rules that allowed something, in words."""
    updates = [update for update in lapsed if update.get("behavior") == "allow"]
    return [_in_words(rule) for update in updates for rule in update.get("rules", ())]


def _in_words(rule: JsonObject) -> str:
    content = rule.get("ruleContent")
    return f"{rule.get('toolName')}({content})" if content else str(rule.get("toolName"))
