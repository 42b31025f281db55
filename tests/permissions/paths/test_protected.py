"""Files that other programs run or trust are protected by their names, however they are spelled."""

from __future__ import annotations

import pytest

from handrail.permissions.paths.protected import protection_of


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit",
        "sub/.GIT/config",
        ".claude/settings.json",
        ".Claude/settings.json",
        ".claude",
        ".vscode/tasks.json",
        ".husky/pre-push",
        ".mcp.json",
        ".bashrc",
        "a/b/.envrc",
        ".npmrc",
        ".gitmodules",
        ".ssh/authorized_keys",
        ".config/systemd/user/x.service",
        ".local/bin/x",
        ".cargo/config.toml",
        "GIT~1/config",
        ".git::$INDEX_ALLOCATION/config",
        ".git. /config",
        ".cla\u200dude/settings.json",
        "HEAD",
        ".claude/worktrees/x/.git/config",
    ],
)
def test_a_protected_name_is_found_wherever_it_stands(path: str):
    assert protection_of(path.split("/"))


@pytest.mark.parametrize(
    "path",
    [
        "src/app.ts",
        "git/config",
        ".github/workflows/ci.yml",
        ".gitignore",
        "claude/settings.json",
        ".config/nvim/init.lua",
        "src/HEAD/x",
        ".claude/worktrees/x/src/a.ts",
        "package.json",
        ".env",
    ],
)
def test_an_ordinary_name_is_not_protected(path: str):
    assert protection_of(path.split("/")) == ""


def test_no_names_are_not_protected():
    assert protection_of([]) == ""
