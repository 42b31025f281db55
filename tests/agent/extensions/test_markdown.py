from __future__ import annotations

from pathlib import Path

from handrail.agent.extensions.markdown import LIMIT, read_folder, split_head, without_powers


def test_a_head_has_values_lists_and_switches() -> None:
    head, body = split_head(
        '---\nname: "a: b"\ntools: [Read, Bash]\nmore:\n  - x\n  - "y"\non: true\nlong: >\n  one\n  two\n---\nBody\n'
    )
    assert head == {"name": "a: b", "tools": ["Read", "Bash"], "more": ["x", "y"], "on": True, "long": "one two"}
    assert body == "Body\n"


def test_a_file_without_a_head_is_all_body() -> None:
    assert split_head("# Title\n---\n") == ({}, "# Title\n---\n")


def test_a_head_that_never_ends_is_body() -> None:
    assert split_head("---\nname: a\n") == ({}, "---\nname: a\n")


def test_line_ends_of_windows_are_read() -> None:
    assert split_head("---\r\nname: a\r\n---\r\nBody") == ({"name": "a"}, "Body")


def test_unknown_yaml_is_ignored() -> None:
    assert split_head("---\n- x\n: y\n{}\nname: a\n---\n")[0] == {"name": "a"}


def test_files_in_folders_are_named_after_both(tmp_path: Path) -> None:
    (tmp_path / "git").mkdir()
    (tmp_path / "git" / "log.md").write_text("Show the log")
    (tmp_path / "plain.md").write_text("---\ndescription: d\n---\nDo it")
    (tmp_path / "not.txt").write_text("no")
    assert list(read_folder(str(tmp_path))) == [
        ("git:log", {}, "Show the log"),
        ("plain", {"description": "d"}, "Do it"),
    ]


def test_skills_are_named_after_their_folder(tmp_path: Path) -> None:
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "SKILL.md").write_text("How")
    (tmp_path / "deploy" / "notes.md").write_text("not this")
    assert [name for name, _, _ in read_folder(str(tmp_path), "SKILL.md")] == ["deploy"]


def test_missing_folder_is_empty(tmp_path: Path) -> None:
    assert list(read_folder(str(tmp_path / "none"))) == []


def test_link_out_of_the_folder_and_huge_file_are_ignored(tmp_path: Path) -> None:
    folder = tmp_path / "commands"
    folder.mkdir()
    (tmp_path / "secret.md").write_text("secret")
    (folder / "out.md").symlink_to(tmp_path / "secret.md")
    (folder / "huge.md").write_text("x" * (LIMIT + 1))
    (folder / "fine.md").write_text("fine")
    assert [name for name, _, _ in read_folder(str(folder))] == ["fine"]


def test_head_of_an_untrusted_file_keeps_no_powers() -> None:
    harmless = {"name": "x", "description": "d", "tools": "Read", "disallowedTools": "Bash", "model": "opus"}
    powers = {"allowed-tools": "Bash", "permissionMode": "bypassPermissions", "hooks": "x", "mcpServers": "x", "new": 1}
    assert without_powers({**harmless, **powers}) == harmless
