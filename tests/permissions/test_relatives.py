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
        ("git mv ../x y", "git"),
        ("git archive --add-file=/x/secret HEAD", "git"),
        ("python3 -Bm timeit x", "python3"),
        ("python3 -mpytest -p other", "python3"),
        ("python3 -m pytest --tx popen//python=./x", "python3"),
        ("uv run pytest -p other", "uv run pytest"),
        ("py.test --conf=other", "py.test"),
        ("npx jest --globalSetup=./x.js", "npx jest"),
        ("npx jest -c other.js", "npx jest"),
        ("npx jest --reporters=./x.js", "npx jest"),
        ("npx eslint -f ./x.js src", "npx eslint"),
        ("npx eslint --format=./x.js src", "npx eslint"),
        ("npx prettier --plugin=./x.js src", "npx prettier"),
        ("just --shell ./x.sh test", "just"),
        ("rake -r ./x.rb", "rake"),
        ("tox -x testenv.commands=x", "tox"),
        ("nox --noxfile x.py", "nox"),
        ("npm docs --browser=./x.sh", "npm"),
        ("pip install -Cx=y z", "pip install"),
        ("psql -c '\\! ls'", "psql"),
        ("psql", "psql"),
        ("psql -c x -o /x/y", "psql"),
        ("duckdb x.db '.shell ls'", "duckdb"),
        ("racket -e x", "racket"),
        ("less '+!ls' a.txt", "less"),
        ("less -o x a.txt", "less"),
        ("pre-commit try-repo ../x", "pre-commit"),
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
        ("git worktree add ../x", "git"),
        ("npx eslint -c .eslintrc.json src", "npx eslint"),
        ("npx eslint -f json src", "npx eslint"),
        ("npx eslint --format=stylish src", "npx eslint"),
        ("npx eslint src -f", "npx eslint src -f"),
        ("npx jest --coverage --watch=false src/a.test.ts", "npx jest"),
        ("npx prettier --check .", "npx prettier"),
        ("just test", "just"),
        ("npx --yes eslint src", "npx"),
        ("npx --package=x y", "npx"),
        ("uv run pytest -q", "uv run pytest"),
        ("pytest --co -q", "pytest"),
        ("py.test --co", "py.test"),
        ("node --test", "node"),
        ("python3 -m pytest tests", "python3"),
        ("python3 -m json.tool a.json", "python3"),
        ("psql -c 'select 1'", "psql"),
        ("less a.txt", "less"),
        ("pre-commit run try-repo", "pre-commit"),
        ("tar czf x.tgz src", "tar"),
        ("find . -type f -exec cat {} +", "find"),
    ],
)
def test_ordinary_uses_of_the_same_programs_are_allowed(command: str, allow: str):
    assert ask_about(command, allow=_rules(allow, "cat")).behavior == "allow"


@pytest.mark.parametrize(
    "command",
    ["ifne touch x", "hyperfine 'touch x'", "lckdo l touch x", "ssh host touch x", "docker run image touch x"],
)
def test_an_unknown_program_with_a_denied_one_as_argument_is_asked(command: str):
    decision = ask_about(command, allow=["Bash(*)"], deny=["Bash(touch:*)"])
    assert (decision.behavior, decision.suggestions) == ("ask", ())
    assert decision.reason.startswith(f"{command.split()[0]} may run what the rule Bash(touch:*) means")


def test_an_unknown_program_without_one_is_allowed():
    assert ask_about("hyperfine 'ls touch'", allow=["Bash(*)"], deny=["Bash(touch:*)"]).behavior == "allow"


def test_invisible_tags_are_asked():
    decision = ask_about("git log \U000e0041", allow=["Bash(git:*)"])
    assert (decision.behavior, decision.reason_type) == ("ask", "safetyCheck")


@pytest.mark.parametrize(("function", "behavior"), [("greet", "allow"), ("cat", "ask"), ("git", "ask")])
def test_a_function_in_the_place_of_a_program_is_asked(function: str, behavior: str):
    assert ask_about(f"{function}() {{ echo hi; }}; ls").behavior == behavior


@pytest.mark.parametrize(("argument", "behavior"), [("-m=.env", "ask"), ("a,.ENV", "ask"), ("'see .env'", "allow")])
def test_a_denied_name_in_an_argument_is_asked_unless_it_is_prose(argument: str, behavior: str):
    assert ask_about(f"x {argument}", allow=_rules("x"), deny=["Read(.env)"]).behavior == behavior


@pytest.mark.parametrize("command", ["find . -type f -exec cat {} +", "find src -type f -exec head {} \\;"])
def test_a_search_that_may_find_a_denied_file_is_asked(command: str):
    assert ask_about(command, allow=_rules("find", "cat", "head"), deny=["Read(**/.env)"]).behavior == "ask"


def test_a_redirect_without_a_command_is_asked():
    assert ask_about('echo "$(< $(echo /x/secret))"').behavior == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "cat <<< $API_KEY",
        "cat <<E\n$API_KEY\nE",
        "x=$API_KEY; echo $x",
        "x=a; x=$API_KEY; echo $x",
        "for x in $API_KEY; do echo $x; done",
        "for API_KEY in $API_KEY; do echo $API_KEY; done",
        "read -r secret <<< $secret; echo $secret",
        "echo $secret; secret=1",
        "secret=$secret; echo $secret",
        'secret="a $secret"; echo $secret',
        "secret=$(echo $secret); echo $secret",
        """jq -n --arg k "${API_KEY:-1}" '$k'""",
        'echo "${x:-$API_KEY}"',
        "case $API_KEY in a*) echo a;; esac",
        "bash -c 'cat <<< $API_KEY'",
        "echo \\' $API_KEY \\'",
    ],
)
def test_printing_a_variable_of_the_environment_is_asked(command: str):
    assert ask_about(command).behavior == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "cat <<'E'\n$API_KEY\nE",
        'awk "{print \\$NF}" a.txt',
        "awk '{print $NF}' a.txt",
        "for f in *.txt; do echo $f; done",
        'while read -r line; do echo "$line"; done < a.txt',
        'IFS=, read -r a b <<< "1,2"; echo "$a $b"',
        "echo $HOME $USER $PATH $?",
        'n=$(wc -l < a.txt); echo "$n"',
        'x=1; echo "${x:-none}"',
    ],
)
def test_printing_own_variables_is_allowed(command: str):
    assert ask_about(command).behavior == "allow"


@pytest.mark.parametrize("wrapper", ["eval", "timeout 5", "command"])
def test_a_command_that_is_wrapped_too_often_is_asked(wrapper: str):
    assert ask_about(f"{wrapper} " * 6 + "ls").behavior == "allow"
    assert ask_about(f"{wrapper} " * 7 + "ls").reason == "it is wrapped too often"


@pytest.mark.parametrize("command", ["ps axe", "ps -eM", "ps -e 1", "ps -e -o pid e", "ps -C x -o e"])
def test_a_list_of_processes_with_variables_is_allowed_only_by_a_rule_that_spells_it_out(command: str):
    assert ask_about(command, allow=_rules("ps")).behavior == "ask"
    assert ask_about(command, allow=[f"Bash({command})"]).behavior == "allow"
