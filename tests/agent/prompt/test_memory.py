"""Memory files: which of them the model sees, where, and in which order."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.script import Script, text, tool_use
from handrail.agent.prompt.memory import FILE_LIMIT, TOTAL_LIMIT
from tests.agent.stage import StagedHost, stage

PROJECT_RULE = "project/.claude/rules/rule.md"


def write(folder: Path, files: dict[str, str]) -> None:
    (folder / "project").mkdir(exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def notes(request: dict[str, Any]) -> list[str]:
    """The words in capitals that the files of these tests consist of."""
    return re.findall(r"M_\w+", json.dumps(request["messages"]))


async def seen(folder: Path, files: dict[str, str], *flags: str, **options: Any) -> list[str]:
    """The notes that the model sees in its first request."""
    write(folder, files)
    async with stage(folder, Script.of(text("ok")), *flags, **options) as host:
        await host.turn("go")
        assert "M_" not in json.dumps(host.model.asked[0]["system"])
        return notes(host.model.asked[0])


async def seen_after(folder: Path, files: dict[str, str], *calls: Any, **options: Any) -> list[str]:
    """The notes that the model sees after it has called these tools."""
    write(folder, files)
    async with stage(folder, Script.of(*calls, text("ok")), **options) as host:
        await host.turn("go")
        return notes(host.model.asked[-1])


LEVELS = {
    "home/.claude/CLAUDE.md": "M_user",
    "home/.claude/rules/r.md": "M_user_rule",
    "CLAUDE.md": "M_above",
    ".claude/rules/r.md": "M_above_rule",
    "CLAUDE.local.md": "M_above_local",
    "project/CLAUDE.md": "M_project",
    "project/.claude/CLAUDE.md": "M_project_dot",
    PROJECT_RULE: "M_rule",
    "project/CLAUDE.local.md": "M_local",
    "project/AGENTS.md": "M_agents",
}
OF_PROJECT = ["M_above", "M_above_rule", "M_project", "M_project_dot", "M_rule"]


async def test_files_come_from_the_widest_to_the_nearest(tmp_path: Path) -> None:
    expected = ["M_user", "M_user_rule", "M_above", "M_above_rule", "M_above_local"]
    expected += ["M_project", "M_project_dot", "M_rule", "M_local"]
    assert await seen(tmp_path, LEVELS) == expected


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ("user", ["M_user", "M_user_rule"]),
        ("project", OF_PROJECT),
        ("local", ["M_above_local", "M_local"]),
        ("", []),
    ],
)
async def test_setting_sources_select_the_files(tmp_path: Path, sources: str, expected: list[str]) -> None:
    assert await seen(tmp_path, LEVELS, "--setting-sources", sources) == expected


async def test_a_system_prompt_of_the_host_leaves_the_files_in_place(tmp_path: Path) -> None:
    files = {"project/CLAUDE.md": "M_project"}
    assert await seen(tmp_path, files, "--system-prompt", "Be a cat.") == ["M_project"]
    assert await seen(tmp_path, files, "--bare") == []


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"project/AGENTS.md": "M_agents", "AGENTS.md": "M_above"}, ["M_above", "M_agents"]),
        ({"project/AGENTS.md": "M_agents", "home/.claude/CLAUDE.md": "M_user"}, ["M_user", "M_agents"]),
        ({"project/AGENTS.md": "M_agents", "project/CLAUDE.md": ""}, ["M_agents"]),
        ({"project/AGENTS.md": "M_agents", "CLAUDE.md": "M_above"}, ["M_above"]),
        ({"project/AGENTS.md": "M_agents", "project/CLAUDE.local.md": "M_local"}, ["M_local"]),
    ],
)
async def test_agents_files_count_where_nothing_else_is(
    tmp_path: Path, files: dict[str, str], expected: list[str]
) -> None:
    assert await seen(tmp_path, files) == expected


async def test_imports_go_five_levels_deep_and_not_in_circles(tmp_path: Path) -> None:
    chain = {f"project/docs/{n}.md": f"M_{n} @{n + 1}.md @1.md" for n in range(1, 9)}
    found = await seen(tmp_path, {"project/CLAUDE.md": "M_top @docs/1.md @./docs/1.md", **chain})
    assert found == ["M_top", "M_1", "M_2", "M_3", "M_4"]


IMPORTS = [
    ("@a.md", True),
    ("**@a.md**", True),
    ("- see @a.md#part", True),
    ("@with\\ space.md", True),
    ("`@a.md`", False),
    ("```\n@a.md\n```", False),
    ("~~~\n@a.md\n```\n~~~", False),
    ("<!-- @a.md -->", False),
    ("me@a.md", False),
    ("(@a.md)", False),
    ("@picture.png", False),
    ("@folder", False),
    ("@missing.md", False),
]


@pytest.mark.parametrize(("line", "imported"), IMPORTS)
async def test_words_that_are_imports(tmp_path: Path, line: str, *, imported: bool) -> None:
    others = dict.fromkeys(["a.md", "with space.md", "picture.png", "folder/x.md"], "M_imported")
    files = {f"project/{name}": content for name, content in others.items()}
    found = await seen(tmp_path, {"project/CLAUDE.md": f"M_top\n{line}\n", **files})
    assert ("M_imported" in found) == imported


async def test_imports_leave_the_project_only_if_the_user_approved_it(tmp_path: Path) -> None:
    files = {"project/CLAUDE.md": "M_top @../out.md @~/mine.md", "out.md": "M_out", "home/mine.md": "M_mine"}
    assert await seen(tmp_path, files) == ["M_top"]
    record = {str((tmp_path / "project").resolve()): {"hasClaudeMdExternalIncludesApproved": True}}
    write(tmp_path, {"home/.claude.json": json.dumps({"projects": record})})
    (tmp_path / "home" / ".claude.json").chmod(0o600)
    assert await seen(tmp_path, files) == ["M_top", "M_out", "M_mine"]
    (tmp_path / "home" / ".claude.json").chmod(0o666)
    assert await seen(tmp_path, files) == ["M_top"]


async def test_files_of_the_user_import_what_they_like(tmp_path: Path) -> None:
    files = {"home/.claude/CLAUDE.md": "M_user @more.md @~/mine.md", "home/.claude/more.md": "M_more"}
    assert await seen(tmp_path, {**files, "home/mine.md": "M_mine"}) == ["M_user", "M_more", "M_mine"]


async def test_a_denied_file_is_not_imported(tmp_path: Path) -> None:
    files = {"project/CLAUDE.md": "M_top @secret.md", "project/secret.md": "M_secret"}
    assert await seen(tmp_path, files, "--disallowedTools", "Read(secret.md)") == ["M_top"]


async def test_links_may_not_lead_out_of_the_project(tmp_path: Path) -> None:
    write(tmp_path, {"secret": "M_secret", "project/AGENTS.md": "M_agents"})
    (tmp_path / "project" / "CLAUDE.md").symlink_to(tmp_path / "secret")
    assert "M_secret" not in await seen(tmp_path, {})
    (tmp_path / "project" / "CLAUDE.md").unlink()
    (tmp_path / "project" / "CLAUDE.md").symlink_to("AGENTS.md")
    assert await seen(tmp_path, {}) == ["M_agents"]


COMMENTED = """\
---
name: M_head
---
M_a <!-- M_inline -->
<!-- M_one -->
<!-- M_two
 -->M_b
```
<!-- M_code -->
```
<!-- M_open"""


async def test_heads_and_comments_are_left_out(tmp_path: Path) -> None:
    expected = ["M_a", "M_inline", "M_b", "M_code", "M_open"]
    assert await seen(tmp_path, {"project/CLAUDE.md": COMMENTED}) == expected


async def test_excluded_files_are_not_read(tmp_path: Path) -> None:
    settings = json.dumps({"claudeMdExcludes": ["**/CLAUDE.md"]})
    files = {"project/CLAUDE.md": "M_project", "project/CLAUDE.local.md": "M_local"}
    assert await seen(tmp_path, files, "--settings", settings) == ["M_local"]


async def test_more_folders_have_files_if_the_environment_says_so(tmp_path: Path) -> None:
    files = {"more/CLAUDE.md": "M_more"}
    flags = ("--add-dir", str(tmp_path / "more"))
    variable = {"CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": "1"}
    assert await seen(tmp_path, files, *flags) == []
    assert await seen(tmp_path, files, *flags, environment=variable) == ["M_more"]


async def test_notes_of_earlier_sessions_are_shown_up_to_their_limit(tmp_path: Path) -> None:
    name = re.sub(r"[^A-Za-z0-9]", "-", str((tmp_path / "project").resolve()))
    index = {f"home/.claude/projects/{name}/memory/MEMORY.md": "".join(f"M_{n}\n" for n in range(300))}
    assert len(await seen(tmp_path, index)) == 200
    assert await seen(tmp_path, index, environment={"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}) == []
    assert await seen(tmp_path, index, "--settings", '{"autoMemoryEnabled": false}') == []


async def test_memory_files_can_be_turned_off(tmp_path: Path) -> None:
    files = {"project/CLAUDE.md": "M_project", "home/.claude/CLAUDE.md": "M_user"}
    assert len(await seen(tmp_path, files)) == 2
    assert await seen(tmp_path, files, environment={"CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1"}) == []


async def first_text(folder: Path) -> str:
    async with stage(folder, Script.of(text("ok"))) as host:
        await host.turn("go")
        return host.model.asked[0]["messages"][0]["content"][0]["text"]


async def test_truncation_of_a_long_file_is_reported(tmp_path: Path) -> None:
    write(tmp_path, {"project/CLAUDE.md": "x" * (FILE_LIMIT + 5)})
    assert "[5 more bytes of this file were left out" in await first_text(tmp_path)


async def test_all_files_together_have_a_limit(tmp_path: Path) -> None:
    write(tmp_path, {f"project/.claude/rules/{n}.md": f"M_{n} " + "x" * 200_000 for n in range(4)})
    shown = await first_text(tmp_path)
    assert len(shown) < TOTAL_LIMIT + 2000
    assert re.findall(r"M_\w", shown) == ["M_0", "M_1", "M_2"]
    assert shown.count("were left out") == 2


# Files about what was read

SUB = {"project/sub/CLAUDE.md": "M_sub", "project/sub/deep/CLAUDE.md": "M_deep", "project/sub/deep/x.txt": "hello\n"}


def calls(folder: Path) -> dict[str, Any]:
    path = str(folder / "project" / "sub" / "deep" / "x.txt")
    return {
        "Read": tool_use("Read", file_path=path),
        "Write": tool_use("Write", file_path=path.replace("x.txt", "y.txt"), content="new"),
        "cat": tool_use("Bash", command="cat sub/deep/x.txt"),
        "grep": tool_use("Bash", command="grep -n hello sub/deep/x.txt"),
        "pipe": tool_use("Bash", command="cat sub/deep/x.txt | sort"),
        "ls": tool_use("Bash", command="ls sub/deep"),
        "missing": tool_use("Read", file_path=path + ".gone"),
    }


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("Read", True),
        ("Write", True),
        ("cat", True),
        ("grep", True),
        ("pipe", False),
        ("ls", False),
        ("missing", False),
    ],
)
async def test_files_of_subfolders_come_with_what_is_read_below(tmp_path: Path, call: str, *, found: bool) -> None:
    assert await seen_after(tmp_path, SUB, calls(tmp_path)[call]) == (["M_sub", "M_deep"] if found else [])


async def test_files_of_subfolders_come_once(tmp_path: Path) -> None:
    read = calls(tmp_path)["Read"]
    assert await seen_after(tmp_path, SUB, read, read) == ["M_sub", "M_deep"]


async def test_a_mentioned_file_brings_the_files_about_it(tmp_path: Path) -> None:
    write(tmp_path, SUB)
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        await host.turn("see @sub/deep/x.txt")
        assert notes(host.model.asked[0]) == ["M_sub", "M_deep"]


RULES = [
    ("src", True),
    ("src/", True),
    ("src/*.ts", True),
    ("*.ts", True),
    ("SRC/**", True),
    ("**/*.{js,ts}", True),
    ("/src/a.ts", True),
    ("src/[ab].ts", True),
    ("**", True),
    ("./src/a.ts", False),
    ("!src/a.ts", False),
    ("*.py", False),
    ("a/**", False),
]


@pytest.mark.parametrize(("glob", "found"), RULES)
async def test_rules_with_paths_wait_for_a_file_they_are_about(tmp_path: Path, glob: str, *, found: bool) -> None:
    files = {PROJECT_RULE: f"---\npaths:\n  - '{glob}'\n---\nM_rule", "project/src/a.ts": "x"}
    assert await seen(tmp_path, files) == []
    read = tool_use("Read", file_path=str(tmp_path / "project" / "src" / "a.ts"))
    assert await seen_after(tmp_path, files, read) == (["M_rule"] if found else [])


async def test_patterns_of_a_rule_may_be_one_line(tmp_path: Path) -> None:
    files = {PROJECT_RULE: "---\npaths: lib/**, src/*.{js,ts}\n---\nM_rule", "project/src/a.ts": "x"}
    read = tool_use("Read", file_path=str(tmp_path / "project" / "src" / "a.ts"))
    assert await seen_after(tmp_path, files, read) == ["M_rule"]


# The life of a session


async def test_a_changed_file_is_read_again_when_the_conversation_starts_over(tmp_path: Path) -> None:
    write(tmp_path, {"project/CLAUDE.md": "M_one"})
    script = Script.of(text("a"), text("b"), text("<summary>s</summary>"), text("c"))
    async with stage(tmp_path, script) as host:
        await host.turn("a")
        write(tmp_path, {"project/CLAUDE.md": "M_two"})
        await host.turn("b")
        assert notes(host.model.asked[-1]) == ["M_one"]
        await host.turn("/compact")
        await host.turn("c")
        assert notes(host.model.asked[-1]) == ["M_two"]
        write(tmp_path, {"project/CLAUDE.md": "M_three"})
        await host.turn("/clear")
        await host.turn("d")
        assert notes(host.model.asked[-1]) == ["M_three"]


async def test_a_resumed_session_has_the_files_once(tmp_path: Path) -> None:
    write(tmp_path, {"project/CLAUDE.md": "M_one"})
    async with stage(tmp_path, Script.of(text("a"))) as host:
        await host.turn("a")
        id = host.engine.session.id
    async with stage(tmp_path, Script.of(text("b")), "--resume", id) as host:
        await host.turn("b")
        assert notes(host.model.asked[0]) == ["M_one"]


def loaded(host: StagedHost) -> list[dict[str, Any]]:
    inputs = [request["input"] for request in host.requests("hook_callback")]
    return [given for given in inputs if given["hook_event_name"] == "InstructionsLoaded"]


async def test_hooks_learn_why_each_file_was_loaded(tmp_path: Path) -> None:
    rule = "---\npaths: '**/*.txt'\n---\nM_rule"
    write(tmp_path, {"project/CLAUDE.md": "M_top @more.md", "project/more.md": "M_more", PROJECT_RULE: rule, **SUB})
    async with stage(tmp_path, Script.of(calls(tmp_path)["Read"], text("ok"))) as host:
        host.answers["hook_callback"] = lambda request: {}
        hooks = {"InstructionsLoaded": [{"matcher": None, "hookCallbackIds": ["one"]}]}
        await host.control("initialize", hooks=hooks)
        await host.turn("go")
        found = loaded(host)
    project = (tmp_path / "project").resolve()
    reasons = [(Path(given["file_path"]).relative_to(project).as_posix(), given["load_reason"]) for given in found]
    assert reasons == [
        ("CLAUDE.md", "session_start"),
        ("more.md", "include"),
        ("sub/CLAUDE.md", "nested_traversal"),
        ("sub/deep/CLAUDE.md", "nested_traversal"),
        (".claude/rules/rule.md", "path_glob_match"),
    ]
    assert found[1]["parent_file_path"] == str(project / "CLAUDE.md")
    assert found[4]["globs"] == ["**/*.txt"]
    assert found[4]["trigger_file_path"] == str(project / "sub" / "deep" / "x.txt")


async def test_the_context_figures_count_the_files(tmp_path: Path) -> None:
    write(tmp_path, {"project/CLAUDE.md": "M_one " * 400})
    async with stage(tmp_path, Script.of(text("ok"))) as host:
        await host.turn("go")
        usage = (await host.control("get_context_usage"))["response"]
        shown = await host.turn("/context")
    (file,) = usage["memoryFiles"]
    assert (file["type"], file["path"]) == ("Project", str((tmp_path / "project" / "CLAUDE.md").resolve()))
    assert file["tokens"] > 500
    assert next(part["tokens"] for part in usage["categories"] if part["name"] == "Memory files") == file["tokens"]
    assert f"| Project | {file['path']} |" in shown["result"]
