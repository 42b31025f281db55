"""Which commands the contents of Bash rules mean."""

from __future__ import annotations

import pytest

from handrail.permissions.rules.bash_content import Content, compile_content, mentions
from handrail.permissions.shell.commands import Command
from tests.permissions.command_words import command_of


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, Content("all", "", ())),
        ("*", Content("all", "", ())),
        (":*", Content("all", "", ())),
        ("**", Content("all", "", ())),
        (" * ", Content("all", "", ())),
        ("git push:*", Content("prefix", "git push", ("git", "push"))),
        ("git  push *", Content("prefix", "git push", ("git", "push"))),
        ("git push", Content("exact", "git push", ("git", "push"))),
        ("A=b ls", Content("exact", "A=b ls", ("ls",), (("A", "b"),))),
        ('echo "a  b"', Content("exact", 'echo "a b"', ("echo", "a  b"))),
        ("* --version", Content("pattern", "* --version", ("*", "--version"))),
        ("git * main:*", Content("pattern", "git * main:*", ("git", "*", "main:*"))),
        (r"echo \*", Content("exact", r"echo \*", ("echo", "*"))),
        ("ls; make", Content("exact", "ls; make", ("ls;", "make"), readable=False)),
        ("ls >x:*", Content("prefix", "ls >x", ("ls", ">x"), readable=False)),
        ("echo 'a", Content("exact", "echo 'a", ("echo", "'a"), readable=False)),
    ],
)
def test_a_content_is_made_ready(content: str | None, expected: Content):
    assert compile_content(content) == expected


@pytest.mark.parametrize(
    ("content", "text", "count"),
    [
        ("*", "make", 1),
        ("ls", "ls", 2),
        ("ls -a", "ls  -a", 3),
        ("ls -a", "ls '-a'", 3),
        ("ls -a", "ls -a b", 0),
        ("ls", "/bin/ls", 0),
        ("A=b ls", "A=b ls", 2),
        ("A=b ls", "ls", 0),
        ("ls", "A=b ls", 0),
        ("ls; make", "ls", 0),
        ("git push:*", "git push origin", 2),
        ("git push:*", "git push", 2),
        ("git push:*", "git pushes", 0),
        ("git push:*", "git -C x push", 0),
        ("git:*", "git $x", 1),
        ("git push:*", "git $x", 0),
        ("* --version", "node --version", 1),
        ("* --version", "node x --version", 1),
        ("* --version", "node --version x", 0),
        ("* --version", '"$x" --version', 0),
        ("npm run test*", "npm run test:unit", 2),
        ("npm run test*", "npm run test:unit -- --x", 2),
        ("npm run test*", "npm run lint", 0),
        ("npm run test* x", "npm run testa x", 2),
        ("npm run test* x", "npm run testa x y", 0),
        ("git * main", "git push origin main", 1),
        ("git * main", "git push main origin main", 1),
        ("git * main", "git push origin dev", 0),
        ("git * a *", "git push a", 1),
        ("git * a *", "git push b", 0),
        ("cat src*", "cat src/*", 1),
        ("cat src*", "cat src*/x", 1),
        ("cat src/*", "cat s*", 0),
        ("cat *x", "cat a*", 0),
        ("cat s*c*", "cat src/*", 0),
        ("cat src*", 'cat "src$x"', 0),
        (r"cat \** x", "cat '*a' x", 1),
        ("make a *b", "make a xb", 2),
        ("git push * *", "git push", 2),
    ],
)
def test_an_allow_is_read_to_the_letter(content: str, text: str, count: int):
    assert compile_content(content).allows(command_of(text)) == count


@pytest.mark.parametrize(
    ("content", "text", "match"),
    [
        ("*", "make", "yes"),
        ("rm x", "rm x", "yes"),
        ("rm x", "/bin/rm x", "yes"),
        ("rm x", "RM x", "yes"),
        ("rm x", "rm 'x'", "yes"),
        ("rm x", "rm y", ""),
        ("rm x", "rm x y", ""),
        ("rm x", "ls x", ""),
        ("rm x", 'rm "$y"', "perhaps"),
        ("rm x", "rm $y", "perhaps"),
        ("rm x", "rm x*", "perhaps"),
        ("rm x z", 'rm "$y" a', ""),
        ("rm x", '"$y" x', "perhaps"),
        ("rm:*", "rm -rf x", "yes"),
        ("rm:*", "rmdir x", ""),
        ("rm:*", '"$y" x', "perhaps"),
        ("git push:*", "git push", "yes"),
        ("git push:*", "git -C x push", "yes"),
        ("git push:*", "git --no-pager push", "yes"),
        ("git push:*", "git --weird value push", "perhaps"),
        ("git push:*", "git status", ""),
        ("git push:*", "git", ""),
        ("git push:*", 'git "$x"', "perhaps"),
        ("git push:*", "git a $x", ""),
        ("git remote add:*", 'git remote "$x"', "perhaps"),
        ("git push --force:*", "git push --force", "yes"),
        ("git push --force:*", "git push origin --force", "yes"),
        ("git push --force:*", "git push --force=x", "yes"),
        ("git push --force:*", "git push --forc", "perhaps"),
        ("git push --force:*", "git push --f", "perhaps"),
        ("rm -rf:*", "rm -Rf x", "yes"),
        ("rm -rf:*", "rm --recursive --force x", "yes"),
        ("rm -rf:*", "rm -r --fo x", "perhaps"),
        ("git push --force:*", "git push $x", "perhaps"),
        ("git push --force:*", "git push", ""),
        ("rm -rf:*", "rm -r -f x", "yes"),
        ("rm -rf:*", "rm -fr x", "yes"),
        ("rm -r:*", "rm -rf x", "yes"),
        ("rm -rf:*", "rm -r x", ""),
        ("kill -9:*", "kill -9 1", "yes"),
        ("kill -9:*", "kill -99 1", ""),
        ("cat - x:*", "cat - x", "yes"),
        ("cat --:*", "cat a", "yes"),
        ("rm -r:*", '"$y" -r', "perhaps"),
        ("* --force", "git push --force", "yes"),
        ("* --force", "git push", ""),
        ("* --force", "git push $x", "perhaps"),
        ("git * --force", "/usr/bin/git push --force", "yes"),
        ("git * --force", "ls $x", ""),
        ("git * --force", '"$y" $x', "perhaps"),
        ("git *x *", "git ax", "yes"),
        ("a*b*c", "axbxc", "yes"),
        ("a*b*c", "axc", ""),
        ("a**c", "axc", "yes"),
    ],
)
def test_a_deny_is_read_generously(content: str, text: str, match: str):
    assert compile_content(content).denies(command_of(text)) == match


def test_a_deny_without_words_is_about_the_text_alone():
    assert compile_content("A=b").denies(command_of("A=b")) == "yes"
    assert compile_content("A=b").denies(command_of("make")) == ""
    assert compile_content("ls").denies(Command((), text="x=1")) == ""
    assert compile_content("ls:*").denies(Command((), text="ls  -a")) == "yes"


@pytest.mark.parametrize(
    ("content", "text", "expected"),
    [
        ("*", "anything", True),
        ("ls", " ls ", True),
        ("ls", "ls -a", False),
        ("ls:*", "ls", True),
        ("ls:*", "ls  -a", True),
        ("ls:*", "lsof", False),
        ("* -a", "ls -a", True),
        ("* -a *", "ls -a", True),
        ("* -a *", "ls -a b", True),
        ("* -a *", "ls -ab", False),
    ],
)
def test_a_content_may_mean_a_text(content: str, text: str, expected: bool):
    assert compile_content(content).matches_text(text) is expected


@pytest.mark.parametrize(
    ("content", "text", "expected"),
    [
        ("rm:*", "rm x", True),
        ("rm:*", "ls; rm x", True),
        ("rm:*", "ls && /bin/rm x", True),
        ("rm:*", "echo $(rm x", True),
        ("rm:*", "if true; then rm x", True),
        ("rm:*", "A=b time rm x", True),
        ("rm:*", "r'm' x", True),
        ("rm:*", "ls rm", False),
        ("rm:*", "if", False),
        ("rm:*", ";;", False),
    ],
)
def test_a_text_that_cannot_be_read_may_mention_a_command(content: str, text: str, expected: bool):
    assert mentions(compile_content(content), text) is expected
