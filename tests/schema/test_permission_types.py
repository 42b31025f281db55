"""Permission updates, in and out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.schema.permission_types import (
    PermissionRuleValue,
    PermissionUpdate,
    Suggestion,
    SuggestionHint,
    UnknownSuggestion,
    read_suggestions,
)
from handrail.schema.view import as_builtins, as_json

RULES = [PermissionRuleValue(tool_name="Bash", rule_content="git *"), PermissionRuleValue(tool_name="WebSearch")]
WIRE_RULES = [{"toolName": "Bash", "ruleContent": "git *"}, {"toolName": "WebSearch"}]

UPDATES: list[tuple[dict[str, Any], PermissionUpdate]] = [
    (
        {"type": kind, "rules": WIRE_RULES, "behavior": "deny", "destination": "localSettings"},
        PermissionUpdate(type=kind, rules=RULES, behavior="deny", destination="localSettings"),
    )
    for kind in ("addRules", "replaceRules", "removeRules")
]
UPDATES += [
    (
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
        PermissionUpdate(type="setMode", mode="acceptEdits"),
    ),
    *(
        (
            {"type": kind, "directories": ["/a"], "destination": "session"},
            PermissionUpdate(type=kind, directories=["/a"]),
        )
        for kind in ("addDirectories", "removeDirectories")
    ),
]


@pytest.mark.parametrize(("wire", "update"), UPDATES)
def test_an_update_is_read_and_written(wire: dict[str, Any], update: PermissionUpdate):
    (read,) = read_suggestions(json.dumps([wire]).encode())
    assert isinstance(read, PermissionUpdate)
    assert (read, as_builtins(read), read.to_wire(), update.to_wire()) == (update, wire, wire, wire)


def test_a_rule_without_content_is_written_without_it_even_where_it_came_as_null():
    (read,) = read_suggestions(b'[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":null}],"new":1}]')
    assert isinstance(read, PermissionUpdate)
    assert read.to_wire() == {
        "type": "addRules",
        "rules": [{"toolName": "Bash"}],
        "behavior": "allow",
        "destination": "session",
    }
    assert read.extra == {"new": 1}


def test_an_update_of_an_unheard_type_is_written_with_what_all_share():
    assert PermissionUpdate(type="hologram").to_wire() == {"type": "hologram", "destination": "session"}


@pytest.mark.parametrize(
    ("raw", "view"),
    [
        (b'{"behavior":"allow","message":"Safe to run"}', SuggestionHint(behavior="allow", message="Safe to run")),
        (b'{"type":"hologram"}', UnknownSuggestion(type="hologram")),
        (b"{}", UnknownSuggestion(problem="Object missing required field `behavior`")),
        (
            b'{"type":"addRules","rules":[{"ruleContent":"x"}]}',
            UnknownSuggestion(type="addRules", problem="Object missing required field `toolName` - at `$.rules[0]`"),
        ),
        (b'"x"', UnknownSuggestion(problem="Expected `object`, got `str`")),
    ],
)
def test_a_hint_of_an_older_cli_or_an_unknown_suggestion_keeps_its_bytes(raw: bytes, view: Suggestion):
    (read,) = read_suggestions(b"[" + raw + b"]")
    assert (read, read.raw, as_builtins(read)) == (view, raw, json.loads(raw))
    assert json.loads(as_json(read)) == json.loads(raw)
