"""Arguments that execute are found in every position."""

from __future__ import annotations

import pytest

from handrail.permissions.programs.hazards import hazard
from handrail.permissions.programs.wrappers import unwrap
from handrail.permissions.shell.commands import Command
from tests.permissions.command_words import words_of


def test_no_words_are_no_hazard():
    assert hazard(()) is None


@pytest.mark.parametrize(
    "text",
    [
        "make",
        "make -j 4 test",
        "make V=1 BUILD=release",
        "make -C docs html",
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
        "lua -v",
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
        "find . -name '*.py'",
        "gcc -O2 -Wall -o x x.c -lm",
        "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release",
        "python3 -m http.server 8000",
        "python3 -m myapp",
        "vim x",
        "tar",
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
        ("/usr/bin/rsync -e x y", 2, "-e executes or overwrites"),
        ("npm exec x", 1, "exec executes or overwrites"),
        ("pip3 install --python x y", 3, "--python executes or overwrites"),
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
        ("python3", 1, "the program comes from the input"),
        ("python3 -", 1, "the program comes from the input"),
        ("python3 -u", 2, "the program comes from the input"),
        ("python3 -m timeit x", 4, "the module timeit runs what its arguments or its input say"),
        ("python3 -m asyncio", 3, "the module asyncio runs what its arguments or its input say"),
        ("python3 -m pytest -p x", 4, "-p executes or overwrites"),
        ("bash -c x", 2, "bash gets its program as an argument"),
        ("zsh", 1, "the program comes from the input"),
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


@pytest.mark.parametrize(
    ("text", "index", "word", "name"),
    [
        ("tar --checkpoint-action=exec=x", 1, "--checkpoint-action=exec=x", "tar"),
        ("tar --checkpoint-action exec=x a", 2, "--checkpoint-action", "tar"),
        ("tar -I x y", 2, "-I", "tar"),
        ("tar -tf host:x", 2, "host:x", "tar"),
        ("tar cf host:x a", 2, "host:x", "tar"),
        ("tar -c --file=host:x a", 2, "--file=host:x", "tar"),
        ("tar cIf x y", 1, "cIf", "tar"),
        ("gtar xF x", 1, "xF", "tar"),
        ("tar --add-file=x -cf y", 1, "--add-file=x", "tar"),
        ("find . -delete", 2, "-delete", "find"),
        ("find . -fprint x", 3, "-fprint", "find"),
        ("find . $x", 2, "$x", "find"),
        ("find -L . -name x", 2, "-L", "find"),
        ("make SHELL=x", 1, "SHELL=x", "make"),
        ("make a CC=x", 2, "CC=x", "make"),
        ("make 'a=$(x)'", 1, "'a=$(x)'", "make"),
        ("make 'a:=b;c'", 1, "'a:=b;c'", "make"),
        ("make 'a!=b'", 1, "'a!=b'", "make"),
        ('make "$x"', 1, '"$x"', "make"),
        ("make -f x y", 2, "-f", "make"),
        ("make --direc=x y", 1, "--direc=x", "make"),
        ("gmake --eval=x", 1, "--eval=x", "gmake"),
        ("test -v x", 2, "x", "test"),
        ("[ -R x ]", 3, "]", "["),
        ('[ "$x" y ]', 3, "]", "["),
        ("[ a b c d ]", 5, "]", "["),
        ("[ $x = y ]", 1, "$x", "["),
        ("sqlite3 x '.shell y'", 2, "'.shell y'", "sqlite3"),
        ("sqlite3 x ' .shell y'", 2, "' .shell y'", "sqlite3"),
        ("sqlite3 x 'select writefile(1,2)'", 2, "'select writefile(1,2)'", "sqlite3"),
        ("sqlite3 x 'select 1; attach y as z'", 2, "'select 1; attach y as z'", "sqlite3"),
        ("sqlite3 -cmd x", 2, "-cmd", "sqlite3"),
        ('sqlite3 x "$y"', 2, '"$y"', "sqlite3"),
        ("vim +x y", 1, "+x", "vim"),
        ("vim -c x y", 2, "-c", "vim"),
        ("cmake -E env x", 2, "-E", "cmake"),
        ("cmake -P x", 2, "-P", "cmake"),
        ("cmake -DCMAKE_C_COMPILER=x .", 1, "-DCMAKE_C_COMPILER=x", "cmake"),
        ("zip a b -TT x", 4, "-TT", "zip"),
        ("apt-get install -o a::b=c x", 3, "-o", "apt-get"),
        ("sort -o x y", 2, "-o", "sort"),
    ],
)
def test_an_argument_that_is_not_described_is_found(text: str, index: int, word: str, name: str):
    found = hazard(words_of(text))
    assert found is not None
    assert (found.index, found.why) == (index, f"{word} is not known to be safe for {name}")


@pytest.mark.parametrize("text", ["sqlite3", "sqlite3 x", "sqlite3 -json x"])
def test_a_program_without_its_commands_takes_them_from_the_input(text: str):
    found = hazard(words_of(text))
    assert found is not None
    assert (found.index, found.why) == (len(words_of(text)), "sqlite3 takes its program from the input")


@pytest.mark.parametrize(
    "text",
    ["gcc -wrapper x,y a.c", "gcc @x", "clang -B x y", "cc -fplugin=x a.c", "g++ -Wl,-plugin,x a.c", 'gcc "$x"'],
)
def test_an_option_of_a_compiler_that_runs_something_is_found(text: str):
    found = hazard(words_of(text))
    assert found is not None
    assert found.why.endswith("is not known to be safe for a compiler")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("curl file:///x", "curl would read a file of this machine"),
        ("curl FILE:x", "curl would read a file of this machine"),
        ("curl -T '{a,b}' http://x", "curl would read a file of this machine"),
        ("curl --upload-file=[a-b] http://x", "curl would read a file of this machine"),
        ("curl -K x", "-K executes or overwrites"),
        ("curl --exec x", "--exec executes"),
    ],
)
def test_curl_that_reads_files_is_found(text: str, why: str):
    found = hazard(words_of(text))
    assert found is not None
    assert found.why == why


@pytest.mark.parametrize(
    "text",
    ["xargs grep x", "find . -exec grep x {} +", "xargs -I{} sort {}", "xargs npx eslint"],
)
def test_files_that_a_wrapper_adds_are_no_options(text: str):
    runs = unwrap(Command(words_of(text)))
    assert runs is not None
    assert [hazard(command.words) for command in runs.commands] == [None]


@pytest.mark.parametrize("text", ["python3 -m", 'python3 -m "$x"', 'python3 -m "a$x"'])
def test_a_module_that_is_not_known_is_found(text: str):
    found = hazard(words_of(text))
    assert found is not None
    assert found.index == len(words_of(text))
