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


def test_invalid_rule_is_reported_with_file_and_line(folder: Folder):
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
    user = folder.put_user({"permissions": {"defaultMode": "plan"}})
    settings = folder.load().settings
    assert (settings.mode, settings.mode_source) == ("plan", f"{user}:3")
    folder.put(".claude/settings.json", {"permissions": {"defaultMode": "acceptEdits"}})
    assert folder.load().settings.mode == "plan"
    folder.accept()
    assert folder.load().settings.mode == "acceptEdits"


@pytest.mark.parametrize(
    ("own", "wanted", "mode"),
    [
        ("default", "plan", "plan"),
        ("default", "dontAsk", "dontAsk"),
        ("acceptEdits", "default", "default"),
        ("bypassPermissions", "plan", "plan"),
        ("default", "acceptEdits", "default"),
        ("plan", "default", "plan"),
        ("plan", "dontAsk", "plan"),
        ("dontAsk", "default", "dontAsk"),
    ],
)
def test_untrusted_folder_can_only_make_the_mode_stricter(folder: Folder, own: str, wanted: str, mode: str):
    folder.put_user({"permissions": {"defaultMode": own}})
    folder.put(".claude/settings.json", {"permissions": {"defaultMode": wanted}})
    settings = folder.load().settings
    assert (settings.mode, settings.own_mode) == (mode, own)


def test_untrusted_folder_chooses_what_runs_and_widens_nothing(folder: Folder):
    folder.put_user({"model": "mine", "env": {"A": "mine"}, "sandbox": {"enabled": True}})
    harmless = {"model": "theirs", "outputStyle": "Concise", "effortLevel": "high", "agent": "poet"}
    others = {
        "env": {"A": "theirs", "B": "theirs"},
        "apiKeyHelper": "evil",
        "sandbox": {"enabled": False},
        "disableAllHooks": True,
        "enableAllProjectMcpServers": True,
        "future": 1,
        "permissions": {"deny": ["Read"], "allow": ["Bash"], "additionalDirectories": ["/"]},
    }
    folder.put(".claude/settings.json", {**harmless, **others})
    loaded = folder.load()
    assert not loaded.trusted
    assert loaded.settings.values == {
        **harmless,
        "env": {"A": "mine"},
        "sandbox": {"enabled": True},
        "permissions": {"deny": ["Read"]},
    }
    assert (loaded.settings.directories, loaded.settings.env) == ((), {"A": "mine"})


def test_folder_with_harmless_settings_needs_no_trust(folder: Folder):
    folder.put(".claude/settings.json", {"model": "opus", "permissions": {"deny": ["Read"]}})
    folder.put(".claude/agents/poet.md", "---\nname: poet\ntools: Read\nmodel: haiku\n---\nVerse")
    folder.put(".claude/skills/tea/SKILL.md", "---\ndescription: Tea\n---\nBoil")
    folder.put(".claude/skills/tea/brew.sh", "#!/bin/sh\n", mode=0o755)
    folder.put(".claude/commands/x.md", "Say $ARGUMENTS")
    loaded = folder.load()
    assert (loaded.trusted, loaded.standing.given_by, loaded.settings.values["model"]) == (True, "", "opus")


@pytest.mark.parametrize(
    "text",
    ["Run !`make`", "---\nallowed-tools: Bash\n---\nx", "---\nhooks: {}\n---\nx", "---\nfuture: 1\n---\nx"],
)
@pytest.mark.parametrize("name", ["commands/x.md", "skills/x/SKILL.md", "agents/x.md"])
def test_file_with_powers_needs_trust(folder: Folder, name: str, text: str):
    folder.put(f".claude/{name}", text)
    assert not folder.load().trusted


def test_user_can_approve_the_servers_of_all_projects(folder: Folder):
    folder.put(".mcp.json", {"mcpServers": {"one": {"command": "a"}, "mine": {"command": "b"}, "off": {}}})
    folder.put(".claude/settings.json", {"mcpServers": {"more": {}}, "disabledMcpjsonServers": ["off"]})
    user = {"mcpServers": {"mine": {"command": "c"}}}
    folder.put_user(user)
    assert [server.name for server in folder.load().settings.mcp_servers] == ["mine"]
    folder.put_user({**user, "enableAllProjectMcpServers": True})
    found = {server.name: server.config for server in folder.load().settings.mcp_servers}
    assert found == {"one": {"command": "a"}, "mine": {"command": "c"}}


def test_git_is_safe_in_an_untrusted_folder_whose_repository_runs_nothing(folder: Folder):
    folder.put(".claude/settings.json", {"permissions": {"allow": ["Bash"]}})
    assert (folder.load().trusted, folder.load().git_is_safe) == (False, True)
    folder.put(".git/HEAD", "ref: refs/heads/main")
    folder.put(".git/config", "[core]\n\tfsmonitor = ./evil.sh\n")
    assert not folder.load().git_is_safe
    folder.accept()
    assert folder.load().git_is_safe


def test_unknown_mode_is_reported_and_ignored(folder: Folder):
    folder.put_user({"permissions": {"defaultMode": "yolo"}})
    settings = folder.load().settings
    assert settings.mode == "default"
    assert "`defaultMode` is 'yolo'; it must be one of acceptEdits," in str(settings.problems[0])


def test_any_scope_may_disable_the_bypass_mode(folder: Folder):
    assert not folder.load().settings.bypass_disabled
    folder.put(".claude/settings.json", {"permissions": {"disableBypassPermissionsMode": "disable"}})
    assert folder.load().settings.bypass_disabled
    folder.put(".claude/settings.json", {"permissions": {"disableBypassPermissionsMode": "disable", "allow": ["Read"]}})
    assert (folder.load().trusted, folder.load().settings.bypass_disabled) == (False, True)


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


def test_rules_of_an_untrusted_folder_only_restrict(folder: Folder):
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
        {"permissions": {"deny": ["Read"], "ask": ["Edit"]}},
        (),
    )


def test_large_lists_merge_quickly(folder: Folder):
    rules = [f"Bash(command{number}:*)" for number in range(20_000)]
    folder.put_user({"permissions": {"deny": rules}})
    settings = folder.load(flag=json.dumps({"permissions": {"deny": rules}})).settings
    assert len(settings.values["permissions"]["deny"]) == 20_000


@pytest.mark.parametrize("text", ["{", "[]", '{"permissions": {"deny": 1}}'])
def test_broken_policy_disables_allow_rules_and_bypass(folder: Folder, text: str):
    folder.put_user({"permissions": {"allow": ["Read"], "deny": ["Write"], "defaultMode": "bypassPermissions"}})
    assert (folder.rules("allow"), folder.load().settings.bypass_disabled) == (["Read"], False)
    (folder.policy / "managed-settings.json").write_text(text)
    assert (folder.rules("allow"), folder.rules("deny")) == ([], ["Write"])
    settings = folder.load().settings
    assert ([str(rule.rule) for rule in settings.withheld], settings.bypass_disabled) == (["Read"], True)


@pytest.mark.parametrize(("word", "disabled"), [("disable", True), (True, True), (False, False), ("x", False)])
def test_bypass_mode_is_disabled_by_either_value(folder: Folder, word: object, disabled: bool):
    folder.put_user({"permissions": {"disableBypassPermissionsMode": word}})
    assert folder.load().settings.bypass_disabled is disabled
