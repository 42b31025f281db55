"""Relatives of attacks: other spellings, other programs and other variables, with the ordinary commands beside them."""

from __future__ import annotations

import pytest

from tests.permissions.bash_cases import ask_about


def _rules(*names: str) -> list[str]:
    return [f"Bash({name}:*)" for name in names]


@pytest.mark.parametrize(
    ("command", "allow"),
    [
        ("git commit --fil=/x/secret", "git"),
        ("git hash-object -w /x/secret", "git"),
        ("git worktree add ../x", "git"),
        ("git archive --add-file=/x/secret HEAD", "git"),
        ("python3 -Bm timeit x", "python3"),
        ("python3 -mpytest -p other", "python3"),
        ("python3 -m pytest --tx popen//python=./x", "python3"),
        ("uv run pytest -p other", "uv run pytest"),
        ("npx jest --globalSetup=./x.js", "npx jest"),
        ("psql -c '\\! ls'", "psql"),
        ("psql", "psql"),
        ("psql -c x -o /x/y", "psql"),
        ("duckdb x.db '.shell ls'", "duckdb"),
        ("racket -e x", "racket"),
        ("less '+!ls' a.txt", "less"),
        ("less -o x a.txt", "less"),
        ("tar chf - src", "tar"),
        ("cmake -DCMAKE_PROJECT_INCLUDE_BEFORE=x .", "cmake"),
        ("gcc -fuse-ld=x x.c", "gcc"),
        ("read OPENSSL_CONF <<< x; npm test", "npm test"),
        ("for TF_CLI_CONFIG_FILE in x; do npm test; done", "npm test"),
        ("find . -exec cat {}/../../x \\;", "find"),
    ],
)
def test_a_rule_for_the_program_does_not_cover_it(command: str, allow: str):
    assert ask_about(command, allow=_rules(allow, "cat")).behavior == "ask"


@pytest.mark.parametrize(
    ("command", "allow"),
    [
        ("git commit -m 'see /x and ../y'", "git"),
        ("git log ..main", "git"),
        ("git add src", "git"),
        ("npx eslint -c .eslintrc.json src", "npx eslint"),
        ("npx --yes eslint src", "npx"),
        ("npx --package=x y", "npx"),
        ("uv run pytest -q", "uv run pytest"),
        ("node --test", "node"),
        ("python3 -m pytest tests", "python3"),
        ("python3 -m json.tool a.json", "python3"),
        ("psql -c 'select 1'", "psql"),
        ("less a.txt", "less"),
        ("tar czf x.tgz src", "tar"),
        ("find . -type f -exec cat {} +", "find"),
    ],
)
def test_ordinary_uses_of_the_same_programs_are_allowed(command: str, allow: str):
    assert ask_about(command, allow=_rules(allow, "cat")).behavior == "allow"


@pytest.mark.parametrize("command", ["ifne touch x", "hyperfine 'touch x'", "lckdo l touch x"])
def test_an_unknown_program_with_a_denied_one_as_argument_is_asked(command: str):
    assert ask_about(command, allow=["Bash(*)"], deny=["Bash(touch:*)"]).behavior == "ask"


def test_an_unknown_program_without_one_is_allowed():
    assert ask_about("hyperfine 'ls x'", allow=["Bash(*)"], deny=["Bash(touch:*)"]).behavior == "allow"


def test_invisible_tags_are_asked():
    assert ask_about("git log \U000e0041", allow=["Bash(git:*)"]).behavior == "ask"


@pytest.mark.parametrize("command", ["find . -type f -exec cat {} +", "find src -type f -exec head {} \\;"])
def test_a_search_that_may_find_a_denied_file_is_asked(command: str):
    assert ask_about(command, allow=_rules("find", "cat", "head"), deny=["Read(**/.env)"]).behavior == "ask"


def test_a_redirect_without_a_command_is_asked():
    assert ask_about('echo "$(< $(echo /x/secret))"').behavior == "ask"
