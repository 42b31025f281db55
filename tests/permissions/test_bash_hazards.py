"""Arguments that execute are found, wherever they stand."""

from __future__ import annotations

import pytest

from handrail.permissions.bash_hazards import hazard
from tests.permissions.command_words import words_of


def test_no_words_are_no_hazard():
    assert hazard(()) is None


@pytest.mark.parametrize(
    "text",
    [
        "make",
        "make -j 4 test",
        "make CFLAGS=-O2",
        "tar czf x.tgz x",
        "tar -xzf x.tgz",
        "rsync -a x y",
        "npm test",
        "npm run exec",
        "npm install x",
        "python3 x.py -c y",
        "python3 -u x.py",
        "python3 -W ignore x.py",
        "python3 --version",
        "python3 -m pytest -x",
        "node x.js",
        "bash x.sh",
        "test -f x",
        "[ -n x ]",
        "[ a = b ]",
        "[ -f x -a -f y ]",
        '[ "$x" = b ]',
        '[ -f "$x" ]',
        "sqlite3 x.db 'select 1'",
        "docker ps",
        "docker run image ls",
        "docker",
        "kubectl get pods",
        "go test ./...",
        "cargo build --release",
        "curl https://x",
        "find . -name x",
        "find . -name *.py",
        "git status",
        "sed p x",
        "awk '{print}' x",
        "frobnicate --execute",
        "frobnicate x",
    ],
)
def test_plain_arguments_are_no_hazard(text: str):
    assert hazard(words_of(text)) is None


@pytest.mark.parametrize(
    ("text", "index", "why"),
    [
        ("tar --checkpoint-action=exec=x", 1, "--checkpoint-action executes or overwrites"),
        ("tar --checkpoint-action exec=x a", 2, "--checkpoint-action executes or overwrites"),
        ("tar -I x y", 2, "-I executes or overwrites"),
        ("tar cIf x y", 3, "this makes tar run a program"),
        ("gtar xF x", 2, "this makes tar run a program"),
        ("/usr/bin/rsync -e x y", 2, "-e executes or overwrites"),
        ("npm exec x", 1, "exec executes or overwrites"),
        ("pip3 install --python x y", 3, "--python executes or overwrites"),
        ("clang -B x y", 2, "-B executes or overwrites"),
        ("alias x=y", 1, "it changes how the shell itself works"),
        ("socat a b", 2, "it can run any program"),
        ("python3 -c x", 2, "python gets its program as an argument"),
        ("python3 -uc x", 2, "python gets its program as an argument"),
        ("python3 -c", 1, "python gets its program as an argument"),
        ("python3.12 -c x y", 2, "python gets its program as an argument"),
        ("node -e x", 2, "node gets its program as an argument"),
        ("node --eval=x", 1, "node gets its program as an argument"),
        ("perl -ne x y", 2, "perl gets its program as an argument"),
        ('python3 "$x"', 1, "what python runs is not known before it runs"),
        ("python3 *", 1, "what python runs is not known before it runs"),
        ("python3", 0, "the program comes from the input"),
        ("python3 -", 1, "the program comes from the input"),
        ("python3 -u", 1, "the program comes from the input"),
        ("python3 -m timeit x", 3, "the module timeit runs what its arguments say"),
        ("bash -c x", 2, "bash gets its program as an argument"),
        ("zsh", 0, "the program comes from the input"),
        ("find . -delete", 2, "-delete changes files, or asks"),
        ("find . -fprint x", 3, "-fprint changes files, or asks"),
        ("find . $x", 2, "what $x stands for could be an option that executes or overwrites"),
        ("make SHELL=x", 1, "make may run what SHELL is set to"),
        ("make a CC=x", 2, "make may run what CC is set to"),
        ("make 'a=$(x)'", 1, "make may run what a is set to"),
        ("make 'a:=b;c'", 1, "make may run what a is set to"),
        ('make "$x"', 1, "make may take this for something to run"),
        ("make -f x y", 2, "-f executes or overwrites"),
        ("gmake --eval=x", 1, "--eval executes or overwrites"),
        ("test -v x", 2, "a test looks up a variable by a name that is worked out"),
        ("[ -R x ]", 3, "a test looks up a variable by a name that is worked out"),
        ('[ "$x" y ]', 3, "a test looks up a variable by a name that is worked out"),
        ("[ a b c d ]", 5, "a test looks up a variable by a name that is worked out"),
        ("[ $x = y ]", 1, "what $x stands for could be a test of its own"),
        ("sqlite3 x '.shell y'", 2, "this may be a command that executes"),
        ("sqlite3 x ' .shell y'", 2, "this may be a command that executes"),
        ("sqlite3 -cmd x", 1, "this may be a command that executes"),
        ("sqlite3 x 'select 1;\n.shell y'", 2, "this may be a command that executes"),
        ('sqlite3 x "$y"', 2, "this may be a command that executes"),
        ("docker run --privileged x", 3, "--privileged executes or overwrites"),
        ("docker container run --privileged x", 4, "--privileged executes or overwrites"),
        ("docker --host=x ps", 1, "--host executes or overwrites"),
        ("docker $x", 1, "what $x stands for could be an option that executes or overwrites"),
        ("frobnicate --exec x", 2, "--exec executes"),
        ("frobnicate --exec", 1, "--exec executes"),
        ("frobnicate --pre-command=x y", 1, "--pre-command=x executes"),
        ("frobnicate \\-x", 1, "an option is written so that it does not look like one"),
    ],
)
def test_an_argument_that_executes_is_found(text: str, index: int, why: str):
    found = hazard(words_of(text))
    assert found is not None
    assert (found.index, found.why) == (index, why)


@pytest.mark.parametrize("text", ["python3 -m", 'python3 -m "$x"', 'python3 -m "a$x"'])
def test_a_module_that_is_not_known_is_found(text: str):
    found = hazard(words_of(text))
    assert found is not None
    assert found.index == len(words_of(text)) - 1
