"""Many files, one answer: who wins, what is joined, what a project may not say."""

import json

import pytest

from tests.settings.folder import Folder


def test_the_stronger_scope_wins_and_lists_are_joined(folder: Folder):
    folder.put_user({"model": "a", "env": {"A": "user", "B": "user"}, "permissions": {"allow": ["Read", "Glob"]}})
    folder.put(".claude/settings.json", {"model": "b", "env": {"B": "project"}, "list": [1, {"x": 1}]})
    folder.put(".claude/settings.local.json", {"list": [{"x": 1}, 2], "permissions": {"allow": ["Glob", "Grep"]}})
    folder.put_policy({"env": {"C": True, "D": 1}})
    folder.accept()
    settings = folder.load(flag='{"model": "c"}').settings
    assert settings.env == {"A": "user", "B": "project", "C": "true", "D": "1"}
    assert settings.values["model"] == "c"
    assert settings.values["list"] == [1, {"x": 1}, 2]
    assert settings.values["permissions"] == {"allow": ["Read", "Glob", "Grep"]}
    assert [(str(rule.rule), rule.scope) for rule in settings.rules] == [
        ("Read", "userSettings"),
        ("Glob", "userSettings"),
        ("Glob", "localSettings"),
        ("Grep", "localSettings"),
    ]


def test_a_rule_that_does_not_parse_is_told_with_file_and_line(folder: Folder):
    path = folder.put_user({"permissions": {"deny": ["Read", "Bash(rm"]}})
    settings = folder.load().settings
    assert [
        str(problem)
        for problem in settings.problems
        if str(problem).startswith(f"{path}:5:1: this deny rule cannot be read: ")
    ]
    assert len(settings.rules) == 2


@pytest.mark.parametrize("mode", ["bypassPermissions", "auto"])
@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_a_mode_that_asks_for_nothing_never_comes_from_a_project(folder: Folder, name: str, mode: str):
    path = folder.put(f".claude/{name}", {"permissions": {"defaultMode": mode}})
    folder.accept()
    loaded = folder.load()
    assert (loaded.trusted, loaded.settings.mode) == (True, "default")
    assert [str(problem) for problem in loaded.settings.problems] == [
        f"{path}:3:1: `defaultMode` {mode} does not count in a project"
    ]


def test_a_mode_of_the_user_counts_and_a_trusted_project_may_choose_another(folder: Folder):
    user = folder.put_user({"permissions": {"defaultMode": "bypassPermissions"}})
    settings = folder.load().settings
    assert (settings.mode, settings.mode_source) == ("bypassPermissions", f"{user}:3")
    folder.put(".claude/settings.json", {"permissions": {"defaultMode": "plan"}})
    assert folder.load().settings.mode == "bypassPermissions"
    folder.accept()
    assert folder.load().settings.mode == "plan"


def test_a_mode_that_nobody_knows_is_told_and_left_out(folder: Folder):
    folder.put_user({"permissions": {"defaultMode": "yolo"}})
    settings = folder.load().settings
    assert settings.mode == "default"
    assert "`defaultMode` is 'yolo'; it must be one of acceptEdits," in str(settings.problems[0])


def test_anybody_may_take_the_mode_away_that_asks_for_nothing(folder: Folder):
    assert not folder.load().settings.bypass_disabled
    folder.put(".claude/settings.json", {"permissions": {"disableBypassPermissionsMode": "disable"}})
    assert not folder.load().trusted
    assert folder.load().settings.bypass_disabled


def test_directories_are_seen_from_the_folder_and_the_home(folder: Folder):
    folder.put_user({"permissions": {"additionalDirectories": ["~/a", "~", "../b", "/c/./d", "/c/d"]}})
    assert folder.load().settings.directories == (
        f"{folder.home.parent}/a",
        str(folder.home.parent),
        f"{folder.root}/b",
        "/c/d",
    )


def hook(command: str) -> dict[str, object]:
    return {"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}


def test_hooks_of_all_scopes_run_and_each_knows_its_line(folder: Folder):
    folder.put_user({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "user"}]}]}})
    folder.put_policy({"hooks": {"PreToolUse": [hook("policy"), {"matcher": 7}]}})
    found = folder.load().settings.hooks
    assert [(entry.event, entry.matcher, entry.hook["command"], entry.scope, entry.line) for entry in found] == [
        ("Stop", "", "user", "userSettings", 6),
        ("PreToolUse", "Bash", "policy", "policySettings", 7),
    ]


@pytest.mark.parametrize("switch", [{"allowManagedHooksOnly": True}, {"disableAllHooks": True}])
def test_a_switch_leaves_only_the_hooks_of_the_policy(folder: Folder, switch: dict[str, bool]):
    folder.put_user({"hooks": {"Stop": [hook("user")]}})
    folder.put_policy({"hooks": {"Stop": [hook("policy")]}, **switch})
    assert [entry.hook["command"] for entry in folder.load().settings.hooks] == ["policy"]


def test_a_policy_can_keep_the_right_to_allow_for_itself(folder: Folder):
    folder.put_user({"permissions": {"allow": ["Bash"], "deny": ["Read"]}})
    folder.put_policy({"allowManagedPermissionRulesOnly": True, "permissions": {"allow": ["Glob"]}})
    settings = folder.load().settings
    assert [str(rule.rule) for rule in settings.rules] == ["Read", "Glob"]
    assert [str(rule.rule) for rule in settings.withheld] == ["Bash"]


def test_servers_come_from_settings_and_from_mcp_json_and_can_be_switched_off(folder: Folder):
    folder.put_user({"mcpServers": {"a": {"command": "user"}, "b": {"command": "user"}}})
    folder.put(".mcp.json", {"mcpServers": {"b": {"command": "mcp"}, "c": {"command": "mcp"}, "d": {"command": "mcp"}}})
    folder.put(".claude/settings.local.json", {"disabledMcpjsonServers": ["c", "a"]})
    folder.accept()
    found = folder.load().settings.mcp_servers
    assert [(server.name, server.config["command"], server.scope, server.line) for server in found] == [
        ("a", "user", "userSettings", 3),
        ("b", "mcp", "projectSettings", 3),
        ("d", "mcp", "projectSettings", 9),
    ]


def test_of_an_untrusted_folder_only_what_forbids_and_asks_counts(folder: Folder):
    everything = {
        "permissions": {"allow": ["Bash"], "deny": ["Read"], "ask": ["Edit"], "additionalDirectories": ["/"]},
        "env": {"A": "x"},
        "hooks": {"Stop": [hook("x")]},
        "mcpServers": {"a": {"command": "x"}},
        "apiKeyHelper": "x",
    }
    for name in ("settings.json", "settings.local.json"):
        folder.put(f".claude/{name}", everything)
    folder.put(".mcp.json", {"mcpServers": {"b": {"command": "x"}}})
    loaded = folder.load()
    settings = loaded.settings
    assert not loaded.trusted
    assert [(str(rule.rule), rule.behavior) for rule in settings.rules] == [("Read", "deny"), ("Edit", "ask")] * 2
    assert [str(rule.rule) for rule in settings.withheld] == ["Bash", "Bash"]
    assert (settings.env, settings.hooks, settings.mcp_servers, settings.values, settings.directories) == (
        {},
        (),
        (),
        {},
        (),
    )


def test_large_lists_merge_in_no_time_worth_noting(folder: Folder):
    rules = [f"Bash(command{number}:*)" for number in range(20_000)]
    folder.put_user({"permissions": {"deny": rules}})
    settings = folder.load(flag=json.dumps({"permissions": {"deny": rules}})).settings
    assert len(settings.values["permissions"]["deny"]) == 20_000


@pytest.mark.parametrize("text", ["{", "[]", '{"permissions": {"deny": 1}}'])
def test_a_broken_policy_lets_nobody_allow_or_bypass(folder: Folder, text: str):
    folder.put_user({"permissions": {"allow": ["Read"], "deny": ["Write"], "defaultMode": "bypassPermissions"}})
    assert (folder.rules("allow"), folder.load().settings.bypass_disabled) == (["Read"], False)
    (folder.policy / "managed-settings.json").write_text(text)
    assert (folder.rules("allow"), folder.rules("deny")) == ([], ["Write"])
    settings = folder.load().settings
    assert ([str(rule.rule) for rule in settings.withheld], settings.bypass_disabled) == (["Read"], True)


@pytest.mark.parametrize(("word", "disabled"), [("disable", True), (True, True), (False, False), ("x", False)])
def test_who_takes_the_mode_away_may_say_it_in_two_ways(folder: Folder, word: object, disabled: bool):
    folder.put_user({"permissions": {"disableBypassPermissionsMode": word}})
    assert folder.load().settings.bypass_disabled is disabled
