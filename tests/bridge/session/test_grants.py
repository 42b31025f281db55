"""Grants of a session: they lapse with the process, and can be granted again."""

from __future__ import annotations

import json
from typing import Any

from handrail.bridge.session.grants import BYPASS, for_session, lapse, options_of, renewed_grants
from handrail.bridge.store.base import SessionRecord

RULE: dict[str, Any] = {
    "type": "addRules",
    "behavior": "allow",
    "destination": "session",
    "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}, {"toolName": "Read"}],
}
OTHER: dict[str, Any] = {**RULE, "rules": [{"toolName": "Edit"}]}
FOLDER: dict[str, Any] = {"type": "addDirectories", "directories": ["/more"], "destination": "session"}


def record(**fields: Any) -> SessionRecord:
    return SessionRecord(id="s", cwd="/work", created=0, changed=0, **fields)


def reported(record: SessionRecord) -> list[dict[str, Any]]:
    return [json.loads(event.data) for event in lapse(record)[1]]


def test_without_grants_nothing_lapses():
    assert lapse(record(options={"model": "m"})) == ({}, [])


def test_session_rules_lapse_and_are_reported():
    assert lapse(record(rules=[RULE]))[0] == {"rules": [], "lapsed": [RULE]}
    assert reported(record(rules=[RULE])) == [{"rules": [RULE]}]


def test_lapsed_rules_accumulate_without_duplicates():
    assert lapse(record(rules=[RULE, OTHER], lapsed=[RULE]))[0]["lapsed"] == [RULE, OTHER]


def test_bypass_mode_lasts_for_one_process():
    chosen = record(mode=BYPASS, options={"bypass": True, "may_bypass": True})
    assert lapse(chosen) == ({"options": {"may_bypass": True}}, [])
    later = record(mode=BYPASS, options={"may_bypass": True})
    assert (lapse(later)[0], reported(later)) == ({"mode": "default"}, [{"mode": BYPASS}])
    assert lapse(record(mode="acceptEdits")) == ({}, [])


def test_renewed_grants_apply_to_one_process():
    renewed = record(rules=[RULE], options={"granted": [RULE, OTHER]})
    assert lapse(renewed) == ({"rules": [RULE, OTHER], "options": {}}, [])


def test_granting_again_includes_the_grants_that_would_lapse():
    assert renewed_grants(record(lapsed=[RULE], rules=[OTHER]), running=True) == [RULE, OTHER]
    assert renewed_grants(record(rules=[OTHER]), running=True) == [], "it still applies"
    assert renewed_grants(record(rules=[OTHER]), running=False) == [OTHER]
    assert renewed_grants(record(rules=[OTHER], options={"granted": [RULE, OTHER]}), running=False) == [RULE, OTHER]


def test_only_session_grants_end_with_the_process():
    permanent = {**RULE, "destination": "localSettings"}
    removed = {**RULE, "type": "removeRules"}
    mode = {"type": "setMode", "mode": "plan", "destination": "session"}
    assert for_session([RULE, permanent, removed, mode, FOLDER]) == [RULE, FOLDER]


def test_rules_and_folders_become_options():
    denied = {**OTHER, "behavior": "deny"}
    found = {"allowed_tools": ["Bash(ls:*)", "Read"], "disallowed_tools": ["Edit"], "add_dirs": ["/more"]}
    assert options_of([RULE, denied, FOLDER, {"type": "setMode"}, {**RULE, "type": "removeRules"}]) == found
