"""Commands that only look."""

from __future__ import annotations

import pytest

from handrail.permissions.programs.description import Parsed
from handrail.permissions.programs.read_only import describe
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
