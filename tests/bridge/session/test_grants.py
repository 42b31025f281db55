"""What a new process no longer has, and what can be granted again."""

from __future__ import annotations

import json
from typing import Any

from handrail.bridge.session.grants import BYPASS, for_session, granted_again, lapse, options_of
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


def told(one: SessionRecord) -> list[dict[str, Any]]:
    return [json.loads(event.data) for event in lapse(one)[1]]


def test_where_nothing_was_granted_nothing_lapses():
    assert lapse(record(options={"model": "m"})) == ({}, [])


def test_rules_of_the_session_lapse_and_are_told():
    assert lapse(record(rules=[RULE]))[0] == {"rules": [], "lapsed": [RULE]}
    assert told(record(rules=[RULE])) == [{"rules": [RULE]}]


def test_what_lapsed_before_is_not_forgotten_and_not_doubled():
    assert lapse(record(rules=[RULE, OTHER], lapsed=[RULE]))[0]["lapsed"] == [RULE, OTHER]


def test_a_mode_that_asks_for_nothing_is_for_the_process_for_which_it_was_chosen():
    chosen = record(mode=BYPASS, options={"bypass": True, "may_bypass": True})
    assert lapse(chosen) == ({"options": {"may_bypass": True}}, [])
    later = record(mode=BYPASS, options={"may_bypass": True})
    assert (lapse(later)[0], told(later)) == ({"mode": "default"}, [{"mode": BYPASS}])
    assert lapse(record(mode="acceptEdits")) == ({}, [])


def test_what_is_granted_to_the_next_process_is_in_force_there_and_granted_to_no_other():
    waiting = record(rules=[RULE], options={"granted": [RULE, OTHER]})
    assert lapse(waiting) == ({"rules": [RULE, OTHER], "options": {}}, [])


def test_granting_again_is_for_all_that_lapsed_and_for_what_would_lapse_by_it():
    assert granted_again(record(lapsed=[RULE], rules=[OTHER]), running=True) == [RULE, OTHER]
    assert granted_again(record(rules=[OTHER]), running=True) == [], "it is in force"
    assert granted_again(record(rules=[OTHER]), running=False) == [OTHER]
    assert granted_again(record(rules=[OTHER], options={"granted": [RULE, OTHER]}), running=False) == [RULE, OTHER]


def test_what_holds_until_the_process_ends_is_what_was_granted_for_the_session():
    for_good = {**RULE, "destination": "localSettings"}
    taken_away = {**RULE, "type": "removeRules"}
    mode = {"type": "setMode", "mode": "plan", "destination": "session"}
    assert for_session([RULE, for_good, taken_away, mode, FOLDER]) == [RULE, FOLDER]


def test_rules_and_folders_become_options():
    denied = {**OTHER, "behavior": "deny"}
    found = {"allowed_tools": ["Bash(ls:*)", "Read"], "disallowed_tools": ["Edit"], "add_dirs": ["/more"]}
    assert options_of([RULE, denied, FOLDER, {"type": "setMode"}, {**RULE, "type": "removeRules"}]) == found
