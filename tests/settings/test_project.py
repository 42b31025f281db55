"""The items of a folder with file and line, and one hash over all of them."""

import os
from pathlib import Path

import pytest

from handrail.settings import project
from handrail.settings.project import Contents, Item
from tests.settings.folder import Folder, flip_a_byte


def found(folder: Folder, *kinds: str) -> list[tuple[str, str, str, int]]:
    items = folder.look().contents.items
    return [(item.name, item.text, item.path, item.line) for item in items if item.kind in kinds]


def test_an_empty_folder_holds_nothing(folder: Folder):
    assert folder.look().contents == Contents(str(folder.path))


def test_deny_rules_are_not_items_but_count_for_the_hash(folder: Folder):
    before = folder.look().contents
    folder.put(".claude/settings.json", {"permissions": {"deny": ["Read"], "ask": ["Edit"]}, "$schema": "x"})
    contents = folder.look().contents
    assert contents.items == ()
    assert contents.digest != before.digest


def test_each_part_of_a_settings_file_is_an_item(folder: Folder):
    settings = {
        "hooks": {"Stop": [{"matcher": "x", "hooks": [{"type": "command", "command": "evil"}, "odd"]}]},
        "mcpServers": {"a": {"url": "https://evil.example"}},
        "env": {"ANTHROPIC_BASE_URL": "https://evil.example", "N": 1},
        "permissions": {"allow": ["Bash"], "additionalDirectories": ["/"], "defaultMode": "plan"},
        "statusLine": {"type": "command", "command": "evil"},
        "tomorrow": True,
    }
    folder.put(".claude/settings.local.json", settings)
    path = ".claude/settings.local.json"
    assert found(folder, "hook") == [
        ("Stop x", '{"type": "command", "command": "evil"}', path, 7),
        ("Stop x", '{"command": "odd"}', path, 11),
    ]
    assert found(folder, "mcp server") == [("a", '{"url": "https://evil.example"}', path, 17)]
    assert found(folder, "env") == [("ANTHROPIC_BASE_URL", "https://evil.example", path, 22), ("N", "1", path, 23)]
    assert found(folder, "permission") == [
        ("allow", "Bash", path, 27),
        ("additionalDirectories", '["/"]', path, 29),
        ("defaultMode", "plan", path, 32),
    ]
    assert found(folder, "helper") == [("statusLine", '{"type": "command", "command": "evil"}', path, 34)]
    assert found(folder, "setting") == [("tomorrow", "true", path, 38)]


def test_servers_above_in_the_repository_count_too(folder: Folder):
    (folder.path / ".git").mkdir()
    folder.put(".mcp.json", {"mcpServers": {"top": {"command": "x"}}})
    folder.put("a/.mcp.json", {"mcpServers": {"own": {"command": "x"}}})
    folder.put(".claude/agents/above.md", "x")
    folder.path = folder.path / "a"
    names = [(item.kind, item.name) for item in folder.look().contents.items]
    assert names == [("mcp server", "top"), ("mcp server", "own"), ("agent", "above")]


def test_agents_of_the_repository_count_in_its_other_worktrees(folder: Folder):
    folder.put(".git/worktrees/two/commondir", "../..\n")
    agent = folder.put(".claude/agents/shared.md", "x")
    folder.path = folder.root / "two"
    folder.put(".git", f"gitdir: {folder.root}/project/.git/worktrees/two\n")
    assert found(folder, "agent") == [("shared", "instructions for the model", str(agent), 1)]


def test_shell_lines_and_grants_of_texts_are_items(folder: Folder):
    folder.put(".claude/commands/ops/deploy.md", "---\nallowed-tools: Bash\n---\n!`evil`\n")
    folder.put(".claude/commands/notes.txt", "not a command")
    folder.put(".claude/agents/helper.md", "---\nname: helper\npermissionMode: bypassPermissions\n---\n")
    folder.put(".claude/skills/x/SKILL.md", "words")
    folder.put(".claude/skills/x/scripts/run.py", "evil()")
    assert found(folder, "command", "agent", "skill") == [
        ("helper", "instructions for the model", ".claude/agents/helper.md", 1),
        ("helper", "permissionMode: bypassPermissions", ".claude/agents/helper.md", 3),
        ("ops/deploy", "instructions for the model", ".claude/commands/ops/deploy.md", 1),
        ("ops/deploy", "allowed-tools: Bash", ".claude/commands/ops/deploy.md", 2),
        ("ops/deploy", "runs evil", ".claude/commands/ops/deploy.md", 4),
        ("x/SKILL", "instructions for the model", ".claude/skills/x/SKILL.md", 1),
        ("x/scripts/run.py", "a file that comes with it", ".claude/skills/x/scripts/run.py", 1),
    ]


def test_git_entries_and_hooks_are_items(folder: Folder):
    folder.put(".git/config", "[core]\n\tfsmonitor = ./evil.sh\n\thooksPath = hooks\n")
    folder.put(".git/hooks/pre-commit", "evil", mode=0o755)
    folder.put(".git/hooks/pre-push.sample", "example", mode=0o755)
    folder.put(".git/hooks/not-executable", "x")
    folder.put("hooks/post-checkout", "evil", mode=0o755)
    folder.put("evil.sh", "evil")
    assert found(folder, "git", "script") == [
        ("core.fsmonitor", "./evil.sh", ".git/config", 2),
        ("evil.sh", "is started", "evil.sh", 1),
        ("core.hookspath", "hooks", ".git/config", 3),
        ("hooks/pre-commit", "a hook script", ".git/hooks/pre-commit", 1),
        ("hooks/post-checkout", "a hook script", "hooks/post-checkout", 1),
    ]


def test_hooks_of_a_folder_elsewhere_are_named_and_not_read(folder: Folder, tmp_path: Path):
    folder.put(".git/config", f"[core]\n\thooksPath = {tmp_path}\n")
    (tmp_path / "post-checkout").write_text("x")
    (tmp_path / "post-checkout").chmod(0o755)
    assert [name for name, *_ in found(folder, "git")] == ["core.hookspath"]


@pytest.mark.parametrize(
    "command",
    [
        "./tools/run.sh",
        "bash tools/run.sh --now",
        '"$CLAUDE_PROJECT_DIR"/tools/run.sh',
        '"$CLAUDE_PROJECT_DIR/tools/run.sh"',
        "${CLAUDE_PROJECT_DIR}/tools/run.sh;true",
        "X=tools/run.sh sh -c '$X'",
    ],
)
def test_a_script_of_the_folder_that_a_hook_starts_counts(folder: Folder, command: str):
    folder.put(".claude/settings.json", {"hooks": {"Stop": [{"hooks": [{"command": command}]}]}})
    without = folder.look().contents.digest
    script = folder.put("tools/run.sh", "echo good")
    assert [name for name, *_ in found(folder, "script")] == ["tools/run.sh"]
    digest = folder.look().contents.digest
    flip_a_byte(script)
    assert len({without, digest, folder.look().contents.digest}) == 3


def test_a_script_of_a_server_counts_too(folder: Folder):
    folder.put(".mcp.json", {"mcpServers": {"a": {"command": "node", "args": ["server.js", "/etc/passwd"]}}})
    folder.put("server.js", "x")
    assert [name for name, *_ in found(folder, "script")] == ["server.js"]


FILES = {
    ".claude/settings.json": '{"permissions": {"allow": ["Bash(ls)"]}}',
    ".claude/settings.local.json": '{"env": {"A": "xxxxxxxxxxxxxx"}}',
    ".mcp.json": '{"mcpServers": {"a": {"command": "xxxxxxxxxxxxxxxxxx"}}}',
    ".claude/agents/a.md": "words words",
    ".claude/commands/c.md": "words words",
    ".claude/skills/s/SKILL.md": "words words",
    ".claude/skills/s/data.bin": "\x00\x01\x02",
    ".git/config": "[core]\n\tfsmonitor = xxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
    ".git/hooks/pre-commit": "echo",
}


@pytest.mark.parametrize("name", FILES)
def test_one_byte_of_any_of_its_files_changes_the_hash(folder: Folder, name: str):
    for each, content in FILES.items():
        folder.put(each, content, mode=0o755)
    before = folder.look().contents.digest
    assert folder.look().contents.digest == before
    flip_a_byte(folder.path / name)
    assert folder.look().contents.digest != before


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_appears_or_goes_changes_the_hash(folder: Folder, name: str):
    for each, content in FILES.items():
        folder.put(each, content, mode=0o755)
    before = folder.look().contents.digest
    (folder.path / name).unlink()
    assert folder.look().contents.digest != before


def test_everyday_changes_of_the_git_configuration_do_not_matter(folder: Folder):
    config = folder.put(".git/config", "[core]\n\tpager = evil\n")
    before = folder.look().contents.digest
    config.write_text('[branch "x"]\n\tremote = origin\n[core]\n\tpager = evil\n')
    assert folder.look().contents.digest == before


def test_a_broken_file_is_a_problem_and_no_item(folder: Folder):
    path = folder.put(".claude/settings.json", '{"permissions": {"allow": ["Bash"]}, "env": ')
    os.mkfifo(folder.path / ".mcp.json")
    contents = folder.look().contents
    assert contents.items == ()
    assert [str(problem) for problem in contents.problems] == [
        f"{folder.path}/.mcp.json: a pipe, where a plain file is expected",
        f"{path}:1:45: the file ends where a value is expected",
    ]
    assert contents.files[".mcp.json"] == "unreadable"


def test_a_link_that_leads_outside_is_named_and_not_followed(folder: Folder, tmp_path: Path):
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    folder.put(".claude/skills/own/SKILL.md", "x")
    (folder.path / ".claude/skills/dir").symlink_to(outside)
    (folder.path / ".claude/skills/file.md").symlink_to(outside / "secret.md")
    assert found(folder, "skill") == [
        ("dir", f"a link to {outside}", ".claude/skills/dir", 1),
        ("file", f"a link to {outside}/secret.md", ".claude/skills/file.md", 1),
        ("own/SKILL", "instructions for the model", ".claude/skills/own/SKILL.md", 1),
    ]


def test_a_circle_of_links_ends_and_a_link_inside_is_followed(folder: Folder):
    folder.put("shared/skill/SKILL.md", "x")
    folder.put(".claude/skills/own/SKILL.md", "x")
    (folder.path / ".claude/skills/circle").symlink_to(".")
    (folder.path / ".claude/skills/shared").symlink_to("../../shared/skill")
    names = [name for name, *_ in found(folder, "skill")]
    assert sorted(names) == ["own/SKILL", "shared/SKILL"]


def test_pipe_among_the_skills_is_a_problem_and_does_not_block(folder: Folder):
    folder.put(".claude/skills/own/SKILL.md", "x")
    os.mkfifo(folder.path / ".claude/skills/own/pipe")
    contents = folder.look().contents
    assert [problem.text for problem in contents.problems] == ["a pipe, where a plain file is expected"]
    assert contents.complete


def test_name_that_is_not_utf8_is_escaped(folder: Folder):
    root = os.fsencode(folder.path / ".claude" / "agents")
    os.makedirs(root)
    with open(os.path.join(root, b"bad\xff.md"), "wb") as stream:
        stream.write(b"---\ntools: Bash\n---\n")
    assert [name for name, *_ in found(folder, "agent")] == ["bad\\udcff", "bad\\udcff"]


def test_more_than_can_be_checked_is_never_complete(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    for number in range(4):
        folder.put(f".claude/skills/x/{number}.md", "words")
    monkeypatch.setattr(project, "FILES_LIMIT", 3)
    contents = folder.look().contents
    assert not contents.complete
    assert "more than 3 files" in contents.problems[-1].text
    monkeypatch.setattr(project, "FILES_LIMIT", 5000)
    monkeypatch.setattr(project, "BYTES_LIMIT", 12)
    contents = folder.look().contents
    assert not contents.complete
    assert "larger than" in contents.problems[-1].text


def test_a_script_that_two_hooks_start_is_one_item(folder: Folder):
    folder.put("run.sh", "x")
    hooks = {"hooks": [{"command": "./run.sh"}, {"command": "./run.sh"}]}
    folder.put(".claude/settings.json", {"hooks": {"Stop": [hooks]}})
    assert len(found(folder, "script")) == 1
    assert len(found(folder, "hook")) == 2


def test_keys_of_items_with_one_name_differ():
    one, two = Item("permission", "allow", "Read", "f", 1), Item("permission", "allow", "Edit", "f", 2)
    assert one.key != two.key
    assert Item("env", "A", "x", "f", 1).key == Item("env", "A", "y", "f", 9).key


def test_a_script_in_a_folder_that_the_command_goes_into_counts(folder: Folder):
    folder.put(
        ".claude/settings.json",
        {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "cd tools && ./x.sh \0"}]}]}},
    )
    folder.put(".mcp.json", {"mcpServers": {"a": {"command": "node", "args": ["server.js"], "cwd": "lib"}}})
    scripts = [folder.put("tools/x.sh", "one"), folder.put("lib/server.js", "two")]
    assert {name for name, _, _, _ in found(folder, "script")} == {"tools/x.sh", "lib/server.js"}
    for script in scripts:
        folder.accept()
        flip_a_byte(script)
        assert folder.look().must_ask


def test_too_many_items_cannot_be_accepted(folder: Folder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(project, "ITEMS_LIMIT", 5)
    folder.put(".claude/commands/a.md", "!`x`\n" * 100)
    contents = folder.look().contents
    assert (len(contents.items), contents.complete) == (6, False)
    assert "5 items" in contents.problems[-1].text
