"""Commands that only look."""

from __future__ import annotations

import pytest

from handrail.permissions.programs.description import Parsed
from handrail.permissions.programs.read_only import describe, reads_in_cage, runs_outside
from tests.permissions.command_words import words_of


@pytest.mark.parametrize(
    "text",
    [
        "ls -la x",
        'cat -- "$x"',
        "sort -n x",
        "base64 x",
        "jq .x y",
        "git status",
        "node --version",
        "go version",
        "python3 -V",
        "date",
        "date -u +%F",
        "date -d yesterday +%s",
        'date -d "$x" +%s',
        "hostname",
        "hostname -f",
        "ps aux",
        "ps -ef --forest",
        "ps -o pid,cmd -p 7",
        "uniq -c x",
        "uniq",
        "xxd x",
        "sed -n 1p x",
        "find . -name x",
        "git config user.email",
        "git shortlog -sn",
        "shuf -n 3 x",
        "awk '{print}' x",
        "[ -f x ]",
        "test -f x",
        "command -v ls",
        "command -V ls",
        "read -r line",
        "read -r -p '' a b",
        "export A=b",
        'export A="$x" B',
        "local a",
        "set -euo pipefail",
        "set +e",
        "unset a",
        "unset -v a b",
        "cd x",
        "exit 1",
    ],
)
def test_a_command_only_looks(text: str):
    assert isinstance(describe(words_of(text)), Parsed)


@pytest.mark.parametrize(
    "text",
    [
        "make",
        "frobnicate --version",
        "/bin/ls",
        '"$x"',
        "sort -o x y",
        "sort $x",
        "base64 -o x",
        "fd -x ls",
        "printf -v x y",
        "jq env x",
        "jq '$ENV.x' y",
        "jq -f x y",
        "git commit",
        "git config edit",
        "git config user.email x",
        "cargo --version",
        "rustc --version",
        "rustup --version",
        "pytest --version",
        "shuf -o x y",
        "node x.js",
        "node --version x",
        'node "$x"',
        "date 0101",
        "date -s x",
        "date $x",
        'date "$x"',
        "hostname x",
        'hostname "$x"',
        "hostname *",
        "ps auxe",
        'ps "$x"',
        "uniq a b",
        'uniq "$x"',
        "uniq *",
        "xxd -r x",
        "xxd a b",
        "sed -i p x",
        "sed 'w x' y",
        "find . -delete",
        "awk 'BEGIN{system(1)}'",
        "[ $x = y ]",
        "command ls",
        "read 'a[x]'",
        'read "$x"',
        "export",
        "export -f x",
        "export $x",
        'export "$x"',
        "set",
        "set -- x",
        'set "$x"',
        "unset -f x",
        "unset 'a[x]'",
    ],
)
def test_a_command_does_more_than_look(text: str):
    assert not isinstance(describe(words_of(text)), Parsed)


def test_nothing_does_not_look():
    assert describe(()) is None


@pytest.mark.parametrize(
    "text",
    [
        "readelf -a x",
        "ls --unknown",
        "sed --unknown p x",
        "gawk --unknown x",
        "cargo --version",
        "pytest -V",
        "cargo tree",
        "npm ls --depth=0",
        "npm pkg get version",
        "go mod graph",
        "pip3 list",
        "tar tzf x",
        "sqlite3 x .tables",
        "sqlite3 x 'select 1'",
        "sqlite3 x '.schema users'",
        "git log --unknown",
        "git -C x fsck",
        "git --no-pager submodule status",
        "git branch -a",
    ],
)
def test_a_command_is_worth_running_in_the_cage(text: str):
    assert reads_in_cage(words_of(text))


@pytest.mark.parametrize(
    "text",
    [
        "frobnicate",
        '"$x" a',
        "node -e 1",
        "npm --version",
        "npx --version",
        "npm install",
        "npm run",
        "npm pkg set a=b",
        'npm "$x"',
        "cargo build",
        "go mod tidy",
        "pip list --outdated",
        "pip3 list -o",
        "tar xf x",
        "unzip x",
        "sort -o x y",
        "yq -i .a x",
        "sed -i p x",
        "sqlite3 x 'delete from a'",
        "sqlite3 x '.shell ls'",
        "sqlite3 x",
        "git commit -m x",
        "git push",
        "git stash",
        "git branch x",
        "git submodule update",
        "git -c core.pager=x log",
        "git",
    ],
)
def test_a_command_that_changes_or_connects_is_not_tried_in_the_cage(text: str):
    assert not reads_in_cage(words_of(text))


@pytest.mark.parametrize(
    ("text", "outside"),
    [
        ("ps aux", True),
        ("pgrep x", True),
        ("df -h", True),
        ("git config user.name", True),
        ("git -C x config --get user.email", True),
        ("git var GIT_AUTHOR_IDENT", True),
        ("git config core.pager", False),
        ("git config --list", False),
        ("git grep user.name", False),
        ("grep user.name", False),
        ("ls", False),
    ],
)
def test_a_command_that_the_cage_would_mislead_runs_outside(text: str, outside: bool):
    assert runs_outside(words_of(text)) is outside
