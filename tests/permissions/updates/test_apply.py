"""Changes of the permissions take effect whole, or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.permissions.circumstances import Circumstances
from handrail.permissions.paths.matching import Anchors, Resolved
from handrail.permissions.rules.rule import Rule, SourcedRule, parse_rule, read_rules
from handrail.permissions.updates.apply import UpdateRefused, apply, apply_all, read_updates, rules_of
from handrail.schema.permission_types import PermissionRuleValue, PermissionUpdate

ANCHORS = Anchors(cwd="/w/proj", project="/w/proj", home="/w/home", additional=("/extra",))
NOW = Circumstances(
    anchors=ANCHORS,
    rules=(
        *read_rules(["Bash(git *)", "Read"], "allow", "session"),
        *read_rules(["Bash(git push *)"], "deny", "session"),
        *read_rules(["Bash(make)"], "allow", "localSettings", "settings.local.json", [3]),
        *read_rules(["Read(~/.ssh/**)"], "deny", "policySettings"),
    ),
)


class World:
    """A disk on which everything below /link is really below /data."""

    def resolve(self, path: str) -> Resolved:
        return Resolved(asked=path, lexical=path, real=path.replace("/link", "/data"), kind="directory")

    def names(self, folder: str) -> tuple[str, ...]:
        return ()

    def is_plain(self, folder: str) -> bool:
        return True


def update(kind: str, *rules: str, **fields: Any) -> PermissionUpdate:
    values = [PermissionRuleValue(tool_name=rule.tool, rule_content=rule.content) for rule in map(parse_rule, rules)]
    return PermissionUpdate(type=kind, rules=values, **fields)


def texts(circumstances: Circumstances, scope: str, behavior: str = "allow") -> list[str]:
    return [str(rule.rule) for rule in circumstances.rules if (rule.scope, rule.behavior) == (scope, behavior)]


def test_rules_are_added_once_and_nothing_else_changes():
    then = apply(NOW, update("addRules", "Bash(npm *)", "Read", "Bash(npm *)", behavior="allow"))
    assert texts(then, "session") == ["Bash(git *)", "Read", "Bash(npm *)"]
    assert then.rules[: len(NOW.rules)] == NOW.rules
    assert (then.mode, then.anchors) == (NOW.mode, NOW.anchors)


def test_rules_are_replaced_in_their_scope_and_of_their_behavior_alone():
    then = apply(NOW, update("replaceRules", "WebSearch", behavior="allow"))
    assert texts(then, "session") == ["WebSearch"]
    assert texts(then, "session", "deny") == ["Bash(git push *)"]
    assert texts(then, "localSettings") == ["Bash(make)"]


def test_rules_are_removed_where_they_stand():
    then = apply(NOW, update("removeRules", "Read", "Bash(make)", behavior="allow"))
    assert texts(then, "session") == ["Bash(git *)"]
    assert texts(then, "localSettings") == ["Bash(make)"]
    then = apply(NOW, update("removeRules", "Bash(make)", behavior="allow", destination="localSettings"))
    assert texts(then, "localSettings") == []


@pytest.mark.parametrize("scope", ["session", "cliArg", "command", "localSettings", "projectSettings", "userSettings"])
def test_every_scope_that_can_be_written_takes_rules(scope: str):
    then = apply(NOW, update("addRules", "WebSearch", behavior="ask", destination=scope))
    assert texts(then, scope, "ask") == ["WebSearch"]


@pytest.mark.parametrize("scope", ["policySettings", "flagSettings"])
@pytest.mark.parametrize("kind", ["addRules", "removeRules", "setMode", "addDirectories"])
def test_read_only_settings_refuse_every_update(kind: str, scope: str):
    with pytest.raises(UpdateRefused, match="can only be read"):
        apply(NOW, update(kind, "Read", mode="plan", directories=["/x"], destination=scope))


def test_the_mode_is_set():
    assert apply(NOW, update("setMode", mode="acceptEdits")).mode == "acceptEdits"


@pytest.mark.parametrize("mode", ["", "root", "Default"])
def test_a_mode_that_does_not_exist_is_refused(mode: str):
    with pytest.raises(UpdateRefused, match="unknown mode"):
        apply(NOW, update("setMode", mode=mode))


def test_bypass_must_have_been_made_available_and_is_never_kept():
    bypass = update("setMode", mode="bypassPermissions")
    with pytest.raises(UpdateRefused, match="when the session is started"):
        apply(NOW, bypass)
    able = Circumstances(anchors=ANCHORS, bypass_available=True)
    assert apply(able, bypass).mode == "bypassPermissions"
    with pytest.raises(UpdateRefused, match="never kept in a file"):
        apply(able, update("setMode", mode="bypassPermissions", destination="userSettings"))


def test_folders_are_added_and_removed_in_every_spelling():
    added = update("addDirectories", directories=["/link/a", "sub", "~/notes", "/extra"])
    then = apply(NOW, added, World())
    assert then.anchors.additional == ("/extra", "/link/a", "/w/proj/sub", "/w/home/notes", "/data/a")
    assert apply(NOW, added).anchors.additional == ("/extra", "/link/a", "/w/proj/sub", "/w/home/notes")
    gone = apply(then, update("removeDirectories", directories=["/link/a", "/extra", "/unknown"]), World())
    assert gone.anchors.additional == ("/w/proj/sub", "/w/home/notes")


@pytest.mark.parametrize("folder", ["", "a\x00b", "file:///etc", "~root", "a\u202eb"])
def test_an_odd_folder_is_refused(folder: str):
    with pytest.raises(UpdateRefused, match="cannot be worked in"):
        apply(NOW, update("addDirectories", directories=["/fine", folder]))


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (update("forgetRules"), "unknown type of update"),
        (update("addRules", "Read", destination="moon"), "unknown destination"),
        (update("addRules", "Read", behavior="maybe"), "allow, deny or ask"),
        (PermissionUpdate(rules=[PermissionRuleValue(tool_name="Read,Bash")]), "is not a valid rule"),
        (PermissionUpdate(rules=[PermissionRuleValue(tool_name="")]), "is not a valid rule"),
        (PermissionUpdate(rules=[PermissionRuleValue(tool_name=" Read")]), "another rule"),
        (PermissionUpdate(rules=[PermissionRuleValue(tool_name="Read(x)")]), "another rule"),
        (
            PermissionUpdate(rules=[PermissionRuleValue(tool_name="Bash", rule_content="a\u202eb")]),
            "is not a valid rule",
        ),
    ],
)
def test_an_update_that_makes_no_sense_is_refused_in_words(wrong: PermissionUpdate, word: str):
    with pytest.raises(UpdateRefused, match=word):
        apply(NOW, wrong)


def test_of_several_updates_the_good_ones_take_effect_and_the_others_are_named():
    then, refused = apply_all(NOW, [update("setMode", mode="no"), update("addRules", "WebSearch")])
    assert texts(then, "session")[-1] == "WebSearch"
    assert len(refused) == 1
    assert "unknown mode" in refused[0]


@given(st.text(min_size=1, max_size=20), st.none() | st.text(max_size=20))
def test_a_rule_of_an_update_reads_back_as_itself_or_is_refused(tool: str, content: str | None):
    asked = PermissionUpdate(rules=[PermissionRuleValue(tool_name=tool, rule_content=content)])
    try:
        (found,) = rules_of(asked)
    except UpdateRefused:
        return
    assert found == SourcedRule(rule=Rule(tool, content), behavior="allow", scope="session")
    assert parse_rule(str(found.rule)) == Rule(tool, content)


TOUCH = {
    "type": "addRules",
    "behavior": "allow",
    "destination": "session",
    "rules": [{"toolName": "Bash", "ruleContent": "touch:*"}],
}


@pytest.mark.parametrize(
    "item",
    [
        TOUCH,
        {**TOUCH, "more": 1},
        {**TOUCH, "type": "removeRules", "behavior": "deny", "destination": "cliArg"},
        {**TOUCH, "type": "replaceRules", "behavior": "ask", "destination": "localSettings", "rules": []},
        {**TOUCH, "rules": [{"toolName": "Bash"}]},
        {"type": "setMode", "mode": "bypassPermissions", "destination": "session"},
        {"type": "addDirectories", "directories": ["/a"], "destination": "userSettings"},
        {"type": "removeDirectories", "directories": [], "destination": "projectSettings"},
    ],
)
def test_updates_with_all_their_fields_are_read(item: dict[str, Any]):
    assert [one.type for one in read_updates([TOUCH, item])] == ["addRules", item["type"]]


@pytest.mark.parametrize(
    "item",
    [
        None,
        5,
        {},
        {"type": "nonsense", "destination": "session"},
        {**TOUCH, "behavior": "perhaps"},
        {**TOUCH, "destination": "mars"},
        {**TOUCH, "destination": "policySettings"},
        {**TOUCH, "destination": "command"},
        {**TOUCH, "rules": "Bash"},
        {**TOUCH, "rules": [{"ruleContent": "touch:*"}]},
        {**TOUCH, "rules": [{"toolName": "Bash", "ruleContent": None}]},
        *({name: value for name, value in TOUCH.items() if name != missing} for missing in TOUCH),
        {"type": "setMode", "destination": "session"},
        {"type": "setMode", "mode": "nonsense", "destination": "session"},
        {"type": "setMode", "mode": "delegate", "destination": "session"},
        {"type": "addDirectories", "directories": 5, "destination": "session"},
        {"type": "addDirectories", "destination": "session"},
    ],
)
@pytest.mark.parametrize("last", [True, False])
def test_one_invalid_update_invalidates_all(item: Any, last: bool):
    assert read_updates([TOUCH, item] if last else [item, TOUCH]) == []


@pytest.mark.parametrize("items", [None, "yes", {}, 5])
def test_updates_that_are_no_list_are_none(items: Any):
    assert read_updates(items) == []
