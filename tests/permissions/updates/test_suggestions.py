"""What is suggested is narrow, covers what was asked for, and reads back as it was meant."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.files.resolve import Disk
from handrail.permissions.circumstances import Circumstances
from handrail.permissions.decide import decide
from handrail.permissions.paths.matching import Anchors, Resolved
from handrail.permissions.rules.bash_content import compile_content
from handrail.permissions.rules.rule import Rule, parse_rule, read_rules
from handrail.permissions.shell.commands import Command, read_script
from handrail.permissions.updates.apply import apply_all
from handrail.permissions.updates.suggestions import suggest, suggest_for_commands
from handrail.schema.permission_types import PermissionUpdate
from tests.permissions.path_layout import Layout, build_layout

HERE = Anchors(cwd="/w/proj", project="/w/proj", home="/w/home")
WORLD = Disk(HERE)
ACCEPT_EDITS = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return build_layout(tmp_path_factory.mktemp("layout"))


def file(path: str, **fields: Any) -> Resolved:
    return Resolved(asked=path, lexical=path, real=path, **{"kind": "file", **fields})


def wire(updates: tuple[PermissionUpdate, ...]) -> list[dict[str, Any]]:
    return [update.to_wire() for update in updates]


def rules(destination: str, *texts: str) -> dict[str, Any]:
    values = [
        {"toolName": rule.tool} | ({} if rule.content is None else {"ruleContent": rule.content})
        for rule in map(parse_rule, texts)
    ]
    return {"type": "addRules", "rules": values, "behavior": "allow", "destination": destination}


def commands(*texts: str) -> list[Command]:
    return [command for text in texts for command in read_script(text).commands]


@pytest.mark.parametrize("tool", ["Edit", "Write", "NotebookEdit", "MultiEdit"])
def test_an_edit_inside_suggests_to_accept_edits(tool: str):
    assert wire(suggest(tool, {}, HERE, resolved=file("/w/proj/src/a"))) == [ACCEPT_EDITS]


def test_an_edit_outside_suggests_its_folder_too():
    folder = {"type": "addDirectories", "directories": ["/w/other"], "destination": "session"}
    outside = file("/w/other/a", kind="missing")
    assert wire(suggest("Write", {}, HERE, resolved=outside)) == [ACCEPT_EDITS, folder]
    assert wire(suggest("Write", {}, HERE, resolved=outside, mode="acceptEdits")) == [folder]


def test_an_edit_through_a_link_suggests_both_folders(layout: Layout):
    resolved = Resolved(asked="x", lexical="/w/proj/link/a", real="/w/other/a", kind="file")
    assert suggest("Edit", {}, HERE, resolved=resolved)[1].directories == ["/w/proj/link", "/w/other"]


@pytest.mark.parametrize("path", ["/a", "/w/home/a", "/w/a", "/w/home/.ssh/config"])
def test_no_folder_is_suggested_that_holds_more_than_the_file_is_about(path: str):
    assert suggest("Edit", {}, HERE, resolved=file(path)) == ()
    assert suggest("Read", {}, HERE, resolved=file(path)) == ()


def test_an_edit_of_the_own_settings_suggests_them_for_this_session_and_nothing_wider(layout: Layout):
    def suggested(path: str) -> list[dict[str, Any]]:
        return wire(suggest("Edit", {}, layout.anchors, resolved=layout.resolve(path)))

    assert suggested(".claude/settings.json") == [rules("session", "Edit(/.claude/**)")]
    assert suggested("~/.claude/settings.json") == [rules("session", "Edit(~/.claude/**)")]
    assert suggested(".claude/.git/config") == []


@pytest.mark.parametrize("path", [".git/config", ".mcp.json", ".bashrc", "hard", "key", "fifo", "a\\b", "link/../x"])
def test_a_protected_or_doubtful_file_suggests_nothing(layout: Layout, path: str):
    assert suggest("Edit", {}, layout.anchors, resolved=layout.resolve(path)) == ()


def test_a_read_outside_suggests_its_folder_for_this_session():
    assert wire(suggest("Read", {}, HERE, resolved=file("/etc/hosts"))) == [rules("session", "Read(//etc/**)")]
    folder = file("/usr/share/doc", kind="directory")
    assert wire(suggest("Grep", {}, HERE, resolved=folder)) == [rules("session", "Read(//usr/share/doc/**)")]


def test_a_folder_with_signs_of_a_pattern_is_suggested_as_itself():
    (update,) = suggest("Read", {}, HERE, resolved=file("/srv/[id](x)*/a"))
    (rule,) = update.rules
    assert rule.rule_content == "//srv/\\[id\\](x)\\*/**"
    assert parse_rule(str(Rule(rule.tool_name, rule.rule_content))).content == rule.rule_content


def test_a_read_through_a_link_or_inside_suggests_nothing():
    through = Resolved(asked="x", lexical="/etc/x", real="/data/x", kind="file")
    assert suggest("Read", {}, HERE, resolved=through) == ()
    assert suggest("Read", {}, HERE, resolved=file("/w/proj/a")) == ()


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Docs.Example.com/a?b#c", "docs.example.com"),
        ("http://localhost:8080", "localhost"),
        ("https://example.com?x", "example.com"),
    ],
)
def test_a_fetch_suggests_its_host(url: str, host: str):
    assert wire(suggest("WebFetch", {"url": url}, HERE)) == [rules("localSettings", f"WebFetch(domain:{host})")]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://example.com",
        "https://user@example.com",
        "https://exämple.com",
        "https://[::1]/",
        "https://a.com\\@b.com",
        7,
    ],
)
def test_an_address_that_could_be_read_differently_suggests_nothing(url: object):
    assert suggest("WebFetch", {"url": url}, HERE) == ()


@pytest.mark.parametrize("tool", ["WebSearch", "mcp__github__list_issues"])
def test_a_search_or_a_servers_tool_suggests_the_whole_tool(tool: str):
    assert wire(suggest(tool, {}, HERE)) == [rules("localSettings", tool)]


@pytest.mark.parametrize("tool", ["mcp__a) Bash(*", "mcp__*", "Task", "Bash", "Edit", "Read", "AskUserQuestion"])
def test_no_other_tool_suggests_anything_by_its_name(tool: str):
    assert suggest(tool, {"command": "x"}, HERE) == ()


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("git commit -m x", "Bash(git commit *)"),
        ("git push origin main", "Bash(git push origin main)"),
        ("npm test", "Bash(npm test *)"),
        ("npm run build --watch", "Bash(npm run build *)"),
        ("npm run", "Bash(npm run)"),
        ("npm run --silent", "Bash(npm run --silent)"),
        ("docker compose ps -a", "Bash(docker compose ps *)"),
        ("docker compose up", "Bash(docker compose up)"),
        ("cargo test", "Bash(cargo test *)"),
        ("gh pr view 12", "Bash(gh pr view *)"),
        ("make build", "Bash(make build)"),
        ("tsc --noEmit a.ts", "Bash(tsc --noEmit a.ts)"),
        ("./run.sh --fast", "Bash(./run.sh --fast)"),
        ("/usr/bin/git commit", "Bash(/usr/bin/git commit)"),
        ("pytest -x tests/test_a.py::test_b", "Bash(pytest -x tests/test_a.py::test_b)"),
    ],
)
def test_a_command_suggests_its_known_words_or_its_exact_text(text: str, rule: str):
    assert wire(suggest_for_commands(commands(text), HERE, WORLD)) == [rules("localSettings", rule)]


def test_known_words_are_suggested_however_the_rest_is_written():
    quoted = commands("git commit -m 'a; b' # x")
    assert wire(suggest_for_commands(quoted, HERE, WORLD)) == [rules("localSettings", "Bash(git commit *)")]


@pytest.mark.parametrize("text", ["tsc 'a b'", 'tsc "a(b"', "make  build # all", "tsc a\\ b"])
def test_an_exact_text_is_read_back_as_the_same_words(text: str):
    (command,) = commands(text)
    (update,) = suggest_for_commands([command], HERE, WORLD)
    (rule,) = update.rules
    assert parse_rule(str(Rule("Bash", rule.rule_content))).content == rule.rule_content
    assert "#" not in (rule.rule_content or "#")
    compiled = compile_content(rule.rule_content)
    assert (compiled.kind, compiled.allows(command)) == ("exact", len(command.words) + 1)


@pytest.mark.parametrize(
    "text",
    [
        "bash -c x", "sh x", "python x.py", "python3.12 x.py", "/usr/bin/python3 x", "node x.js", "sudo make",
        "env A=b make", "npx tsc", "xargs ls", "timeout 5 make", "rm a.txt", "chmod +x a", "eval x", "ssh host",
        "uv run x", "perl -e x", "ls *.py", "ls *", "make :*", "find . -exec ls ';'", "echo $HOME", "echo `id`",
        "ls > x", "A=b make", "git -c a=b log", "make " + "x" * 300, "",
    ],
)  # fmt: skip
def test_ambiguous_or_unlimited_command_gets_no_suggestion(text: str):
    assert suggest_for_commands(commands(text), HERE, WORLD) == ()


def test_several_commands_suggest_one_rule_each_in_one_update():
    suggested = suggest_for_commands(commands("git add a", "git add b", "npm test", "make all"), HERE, WORLD)
    assert wire(suggested) == [rules("localSettings", "Bash(git add *)", "Bash(npm test *)", "Bash(make all)")]


def test_more_than_five_rules_or_one_unsafe_command_suggest_nothing():
    assert suggest_for_commands(commands(*(f"make t{number}" for number in range(6))), HERE, WORLD) == ()
    assert len(suggest_for_commands(commands(*(f"make t{number}" for number in range(5))), HERE, WORLD)[0].rules) == 5
    assert suggest_for_commands(commands("npm test", "bash x"), HERE, WORLD) == ()
    assert suggest_for_commands([], HERE, WORLD) == ()


def test_a_command_that_only_writes_files_suggests_to_accept_edits_too():
    def suggested(text: str, mode: str = "default") -> list[dict[str, Any]]:
        return wire(suggest_for_commands(commands(text), HERE, WORLD, mode=mode))

    folder = {"type": "addDirectories", "directories": ["/w/other"], "destination": "session"}
    touch = "touch a /w/other/b /w/other/c"
    assert suggested(touch) == [rules("localSettings", f"Bash({touch})"), ACCEPT_EDITS, folder]
    assert suggested("touch a", "acceptEdits") == [rules("localSettings", "Bash(touch a)")]
    assert suggested("cp /etc/hosts a") == [rules("localSettings", "Bash(cp /etc/hosts a)"), ACCEPT_EDITS]
    assert suggested("touch a; make b") == [rules("localSettings", "Bash(touch a)", "Bash(make b)")]
    assert suggested("cd sub && touch a")[1:] == []


def test_no_edit_is_suggested_while_a_plan_is_made():
    assert suggest("Edit", {}, HERE, resolved=file("/w/proj/a"), mode="plan") == ()


@pytest.mark.parametrize(
    "command", ["npm run build --watch", "make all", "tsc 'a b'", "git add x && make all", "touch a.txt"]
)
def test_granted_suggestion_prevents_another_question(command: str):
    now = Circumstances(anchors=HERE)
    first = decide("Bash", {"command": command}, now, WORLD)
    assert (first.behavior, 1 <= len(first.suggestions) <= 5) == ("ask", True)
    then, refused = apply_all(now, first.suggestions, WORLD)
    assert refused == []
    assert decide("Bash", {"command": command}, then, WORLD).behavior == "allow"


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"file_path": "/etc/hosts"}),
        ("Grep", {"pattern": "x", "path": "/usr/share"}),
        ("WebFetch", {"url": "https://example.com/a"}),
        ("mcp__github__list_issues", {}),
        ("WebSearch", {"query": "x"}),
        ("Write", {"file_path": "new.txt"}),
        ("Write", {"file_path": "/srv/shared/new.txt"}),
    ],
)
def test_granted_suggestion_for_other_tools_prevents_another_question(tool: str, given: dict[str, Any]):
    now = Circumstances(anchors=HERE)
    first = decide(tool, given, now, WORLD)
    assert first.behavior == "ask"
    then, refused = apply_all(now, first.suggestions, WORLD)
    assert refused == []
    assert decide(tool, given, then, WORLD).behavior == "allow"


def test_own_settings_once_given_can_be_edited_and_nothing_else(layout: Layout):
    now, world = Circumstances(anchors=layout.anchors, mode="acceptEdits"), Disk(layout.anchors)
    own = {"file_path": ".claude/settings.json"}
    then, _ = apply_all(now, decide("Edit", own, now, world).suggestions, world)
    assert decide("Edit", own, then, world).behavior == "allow"
    for path in (".git/config", ".mcp.json", ".claude/.git/config", "~/.claude/settings.json"):
        assert decide("Edit", {"file_path": path}, then, world).behavior == "ask"


def test_an_ask_rule_suggests_nothing(layout: Layout):
    rules = tuple(read_rules(["Read(src/**)", "Bash(make *)"], "ask", "userSettings"))
    now = Circumstances(anchors=layout.anchors, rules=rules)
    for tool, given in (("Read", {"file_path": "src/app.ts"}), ("Bash", {"command": "make all"})):
        decision = decide(tool, given, now, Disk(layout.anchors))
        assert (decision.behavior, decision.suggestions) == ("ask", ())


def test_a_rule_that_would_not_read_back_is_not_suggested():
    assert suggest("WebFetch", {"url": f"https://{'a' * 30_000}.example"}, HERE) == ()
    assert suggest("Read", {}, HERE, resolved=file("/srv/a\u2069/x")) == ()
