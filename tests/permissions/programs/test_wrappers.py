"""What commands run in turn."""

from __future__ import annotations

import pytest

from handrail.permissions.programs.wrappers import Runs, base_name, is_shell, unwrap
from handrail.permissions.shell.commands import Command
from handrail.permissions.shell.words import fixed_word
from tests.permissions.command_words import command_of, shown


def runs(text: str) -> Runs | None:
    return unwrap(command_of(text))


def inner(text: str) -> list[str]:
    """The commands that a command runs, as words."""
    found = runs(text)
    assert found is not None
    assert not found.hidden
    return [shown(" ".join(word.text for word in command.words)) for command in found.commands]


def test_a_program_is_named_without_its_folder():
    assert [base_name(fixed_word(text)) for text in ("ls", "/bin/ls", "./a/b", "")] == ["ls", "ls", "b", ""]


def test_shells_are_known():
    assert [is_shell(name) for name in ("bash", "sh", "zsh", "fish", "python")] == [True, True, True, True, False]


@pytest.mark.parametrize(
    "text",
    [
        "ls",
        "make x",
        '"$x" y',
        "find . -name x",
        "fd x",
        "command -v ls",
        "command -V ls",
        "command -pv ls",
        "command",
        "env",
        "env A=b",
        "timeout 5",
        "xargs",
        "tmux",
        "zsh",
        "bash x.sh",
        "bash -x x.sh",
        "bash --version",
        "sh --help",
    ],
)
def test_some_commands_run_nothing_but_themselves(text: str):
    assert runs(text) is None


def test_no_words_run_nothing():
    assert unwrap(Command(())) is None


@pytest.mark.parametrize(
    ("text", "expected", "begins"),
    [
        ("env ls -a", "ls -a", 1),
        ("/usr/bin/env ls", "ls", 1),
        ("env - ls", "ls", 2),
        ("env -i ls", "ls", 2),
        ("env -u X ls", "ls", 3),
        ("env -uX ls", "ls", 2),
        ("env --unset X ls", "ls", 3),
        ("env --unset=X ls", "ls", 2),
        ("env -- ls", "ls", 2),
        ("env A=b C=d ls", "ls", 3),
        ("nice -n 5 ls", "ls", 3),
        ("nice -5 ls", "ls", 2),
        ("nohup ls", "ls", 1),
        ("timeout 5 ls", "ls", 2),
        ("timeout -k 1 -s KILL 5 ls", "ls", 6),
        ("timeout --preserve-status 5 ls", "ls", 3),
        ("timeout -v -- 5 ls", "ls", 4),
        ("command ls", "ls", 1),
        ("command -p ls", "ls", 2),
        ("exec -a x ls", "ls", 3),
        ("timeout 5 env nice ls", "env nice ls", 2),
        ("xargs ls", "ls □", 1),
        ("xargs -0 -n 1 ls -a", "ls -a □", 4),
        ("xargs -I {} cp {} x{}y", "cp □ x□y", 3),
        ("xargs -I% cp % x", "cp □ x", 2),
        ("xargs --replace=@ cp @ x", "cp □ x", 2),
        ("xargs --replace cp {} @", "cp □ @", 2),
        ("xargs -n 1 -I{} cp {} x", "cp □ x □", 4),
        ("xargs -E -Ifoo cp foo", "cp foo □", 3),
        ("xargs -rI % cp % x", "cp □ x", 3),
    ],
)
def test_a_wrapper_is_as_good_as_what_it_runs(text: str, expected: str, begins: int):
    found = runs(text)
    assert found is not None
    assert (inner(text), found.begins, found.transparent) == ([expected], begins, True)


@pytest.mark.parametrize(
    ("text", "expected", "begins"),
    [
        ("sudo ls", "ls", 1),
        ("sudo -u me ls", "ls", 3),
        ("doas ls", "ls", 1),
        ("chroot x ls", "ls", 2),
        ("flock x ls", "ls", 2),
        ("busybox ls", "ls", 1),
        ("strace -f -o x ls", "ls", 4),
    ],
)
def test_a_wrapper_that_does_more_is_seen_through_but_not_as_good(text: str, expected: str, begins: int):
    found = runs(text)
    assert found is not None
    assert (inner(text), found.begins, found.transparent) == ([expected], begins, False)


def test_variables_before_a_wrapper_and_those_of_env_reach_what_is_run():
    found = runs("X=1 env A=b C= ls >x")
    assert found is not None
    (command,) = found.commands
    assert [(item.name, item.value.text) for item in command.assignments] == [("X", "1"), ("A", "b"), ("C", "")]
    assert command.redirects == ()


def test_only_env_takes_variables_from_its_words():
    found = runs("nohup A=b ls")
    assert found is not None
    assert ([word.text for word in found.commands[0].words], found.commands[0].assignments) == (["A=b", "ls"], ())


def test_exec_alone_runs_nothing():
    assert runs("exec >x") == Runs(transparent=True)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("env -Q ls", "an option of env is not known here"),
        ("env --unheard ls", "an option of env is not known here"),
        ("timeout $x ls", "an option of timeout is not known here"),
        ('timeout "$x" ls', "an option of timeout is not known here"),
        ("nice -nx --y ls", "an option of nice is not known here"),
        ("nohup $x", "an option of nohup is not known here"),
        ("tmux new ls", "tmux runs programs that cannot be seen here"),
        ("zsh -c ls", "zsh runs programs that cannot be seen here"),
        ('eval "$x"', "what eval runs is not known before it runs"),
        ("bash", "bash reads its program from somewhere else"),
        ("bash -s", "bash reads its program from somewhere else"),
        ("bash -", "bash reads its program from somewhere else"),
        ("bash --rcfile x", "bash reads its program from somewhere else"),
        ("bash --version x", "bash reads its program from somewhere else"),
        ('bash "$x"', "bash reads its program from somewhere else"),
        ("bash -o pipefail -c ls", "bash reads its program from somewhere else"),
        ("bash -Q x", "bash reads its program from somewhere else"),
        ("bash -x", "bash reads its program from somewhere else"),
        ("bash -c", "the program of bash is not known before it runs"),
        ('bash -c "$x"', "the program of bash is not known before it runs"),
        ("sh -c 'cat <(ls)'", "sh may read this program in another way"),
        ("find . -exec ls", "what find runs is not clear"),
        ("find . -exec ';'", "what find runs is not clear"),
        ("fd x -x", "what fd runs is not clear"),
        ("fd x -xls", "what fd runs is not clear"),
        ("fd x -Hxls", "what fd runs is not clear"),
        ("xargs -I1 -I2 -I3 -I4 -I5 ls", "which words xargs puts where is not clear"),
        ("xargs -a x ls", "an option of xargs is not known here"),
        ("bash -c -x ls", "the program of bash is not known before it runs"),
        ("fdfind x --exec=ls", "what fd runs is not clear"),
    ],
)
def test_hidden_command_is_reported(text: str, why: str):
    found = runs(text)
    assert found is not None
    assert (found.hidden, found.commands, found.transparent) == (why, (), False)


def test_the_value_of_a_known_folder_may_be_the_command():
    found = runs("nohup ~/x y")
    assert found is not None
    assert (len(found.commands), found.begins) == (1, 1)


@pytest.mark.parametrize(
    ("text", "script", "transparent", "begins"),
    [
        ("eval ls -a '; make'", "ls -a ; make", True, 4),
        ("bash -c 'ls; make'", "ls; make", True, 3),
        ("bash -e -xc 'ls' a b", "ls", True, 4),
        ("sh -c 'ls | wc'", "ls | wc", True, 3),
        ("bash -c 'cat <(ls)'", "cat <(ls)", True, 3),
        ("env -S 'ls -a' b", "ls -a b", False, 4),
        ("env '-Sls -a'", "ls -a", False, 2),
        ("env -iS ls b", "ls b", False, 4),
        ("env '--split-string=ls -a'", "ls -a", False, 2),
        ("env --split ls b", "ls b", False, 4),
        ("env '-Sls -a' b c", "ls -a b c", False, 4),
        ("env '--split-string=nice' rm x", "nice rm x", False, 4),
        ("env -S", "", False, 2),
    ],
)
def test_a_text_that_is_run_is_a_script(text: str, script: str, transparent: bool, begins: int):
    assert runs(text) == Runs(scripts=(script,), transparent=transparent, begins=begins)


def test_other_shells_read_some_texts_in_another_way_but_a_deny_sees_them():
    assert runs("dash -c 'ls &> x'") == Runs(scripts=("ls &> x",), hidden="dash may read this program in another way")


@pytest.mark.parametrize(
    ("text", "expected", "begins"),
    [
        ("find . -exec ls {} ';'", ["ls □"], 4),
        ("find . -exec ls -a {} +", ["ls -a □"], 4),
        ("find . -name x -execdir ls x{}y ';' -ok rm {} ';'", ["ls x□y", "rm □"], 6),
        ("find . -exec echo + {} +", ["echo + □"], 4),
        ("fd x -x ls", ["ls □"], 4),
        ("fd x --exec-batch cp {} y", ["cp □ y □"], 4),
    ],
)
def test_finders_run_commands_of_their_own(text: str, expected: list[str], begins: int):
    found = runs(text)
    assert found is not None
    assert (inner(text), found.begins, found.transparent) == (expected, begins, False)


def test_command_of_find_has_neither_its_redirections_nor_its_input():
    found = runs("find . -exec ls {} ';' >x")
    assert found is not None
    assert found.commands[0].redirects == ()
