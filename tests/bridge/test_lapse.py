"""What a new process no longer has, and what can be granted again."""

from __future__ import annotations

import json
from typing import Any

from handrail.bridge.lapse import allowed_again, lapse
from handrail.bridge.session_index.base import SessionRecord
from handrail.client.options import Options

RULE: dict[str, Any] = {
    "type": "addRules",
    "behavior": "allow",
    "destination": "session",
    "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}, {"toolName": "Read"}],
}


def record(**fields: Any) -> SessionRecord:
    return SessionRecord(id="s", cwd="/work", created=0, changed=0, **fields)


def options(**fields: Any) -> Options:
    return Options(**{"permission_mode": "default", "setting_sources": ("user",), **fields})


def test_where_nothing_was_granted_nothing_lapses():
    assert lapse(record(), options()) == ({}, [])


def test_rules_of_the_session_lapse_and_are_told():
    changed, events = lapse(record(rules=[RULE]), options())
    assert changed == {"rules": [], "lapsed": [RULE]}
    assert [(one.kind, json.loads(one.data)) for one in events] == [("lapsed", {"rules": [RULE]})]


def test_what_lapsed_before_is_not_forgotten_and_not_doubled():
    other = {**RULE, "rules": [{"toolName": "Edit"}]}
    changed, _ = lapse(record(rules=[RULE, other], lapsed=[RULE]), options())
    assert changed["lapsed"] == [RULE, other]


def test_a_mode_that_was_not_restored_is_told():
    changed, events = lapse(record(mode="bypassPermissions"), options())
    assert changed == {"mode": "default"}
    assert json.loads(events[0].data) == {"mode": "bypassPermissions"}


def test_whether_the_folder_counts_is_what_the_process_was_told():
    assert lapse(record(trusted=True), options())[0] == {"trusted": False}
    assert lapse(record(), options(setting_sources=("user", "project", "local")))[0] == {"trusted": True}


def test_only_what_allowed_something_is_allowed_again():
    assert allowed_again([RULE, {**RULE, "behavior": "deny"}, {"type": "setMode"}]) == ["Bash(ls:*)", "Read"]
