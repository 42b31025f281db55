"""What git commands run, and which only show."""

from __future__ import annotations

import pytest

from handrail.permissions.programs.description import Parsed, Undescribed
from handrail.permissions.programs.git import describe_git, folder_options, git_hazard, without_global_options
from tests.permissions.command_words import words_of


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("git", None),
        ("git --version", None),
        ("git status", None),
        ("git commit -m x", None),
        ("git -C sub status", None),
        ("git --no-pager log", None),
        ("git -c color.ui=never log", None),
        ("git -c core.pager=cat log", None),
        ("git -c core.pager= log", None),
        ("git -c core.pager=sh log", 2),
        ("git -c core.fsmonitor=x status", 2),
        ('git -c "$x" status', 2),
        ('git -C "$x" status', 2),
        ("git -c", None),
        ("git --git-dir x status", 2),
        ("git --git-dir=x status", 1),
        ("git --work-tree x status", 2),
        ("git --exec-path=x status", 1),
        ("git --unheard-of status", 1),
        ("git frobnicate", 1),
        ("git --no-pager frobnicate", 2),
        ('git "$x"', 1),
        ("git config user.name me", None),
        ("git config user.email me", None),
        ("git config --global user.name me", 4),
        ("git config --system user.email me", 4),
        ("git config core.pager sh", 3),
        ("git config --list", None),
        ("git config --get core.pager", None),
        ("git config get core.pager", None),
        ("git config --get-all core.pager", None),
        ('git config --get "$x"', 3),
        ("git clone https://example.com/x", None),
        ("git clone ext::sh", 2),
        ("git fetch EXT::sh", 2),
        ("git remote add x ssh://-oProxyCommand=x", 4),
        ("git commit -m ext::x", None),
        ("git clone -c a=b x", 3),
        ("git clone --upload-pack=x y", 2),
        ("git -C sub diff --output=x", 4),
        ("git diff --ext-diff", 2),
        ("git rebase -x make", 3),
        ("git bisect run make", 2),
        ("git submodule foreach ls", 2),
        ("git add -- --output=x", None),
    ],
)
def test_the_argument_that_makes_git_run_something_is_found(text: str, index: int | None):
    found = git_hazard(words_of(text))
    assert (found and found.index) == index


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("git -c a=b log", "an option of git before its subcommand can make it run other programs"),
        ("git frobnicate", "this may be an alias of git, which can run anything"),
        ("git config a.b c", "what is set there can make git run other programs"),
        ("git clone ext::x", "this address can make git run other programs"),
    ],
)
def test_reason_why_git_may_run_a_program_is_given(text: str, why: str):
    found = git_hazard(words_of(text))
    assert found is not None
    assert found.why == why


@pytest.mark.parametrize(
    "text",
    [
        "git version",
        "git status",
        "git -C sub status -s",
        "git --no-pager log -n 3",
        "git diff HEAD~1",
        "git show HEAD:x",
        "git branch",
        "git branch -a",
        "git branch -v --no-color",
        "git branch --list 'x/*'",
        "git tag",
        "git tag -l 'v*'",
        "git tag -n3",
        "git remote -v",
        "git stash list",
        "git worktree list --porcelain",
        "git reflog",
        "git reflog show -n3",
        "git config --list",
        "git config --get user.name",
        "git config --local --get-all user.name",
        "git config user.name",
        "git log --format=%h -U3",
        "git branch --sort -committerdate",
        "git describe --abbrev=4 --tags",
        "git shortlog -n -s",
        "git -c log.date=iso log",
    ],
)
def test_git_shows_what_is_there(text: str):
    assert isinstance(describe_git(words_of(text)), Parsed)


@pytest.mark.parametrize(
    "text",
    [
        "git",
        "git --version",
        "git --no-pager",
        "git -c core.fsmonitor=x status",
        "git -c core.fsmonitor=x --version",
        'git "$x"',
        'git -C "$x" status',
        "git commit",
        "git branch x",
        "git branch -D x",
        "git branch $x",
        "git branch -a x",
        "git tag v1",
        "git tag -d v1",
        "git remote add x y",
        "git stash",
        "git stash pop",
        "git worktree add x",
        "git reflog expire",
        "git config user.name me",
        "git config --unset user.name",
        'git config user.name "$x"',
        "git config edit",
        "git config $x",
        "git config x.c --get y",
        "git config user.name --get-all",
        "git config --get --file=x --get user.name",
        "git config --get-regexp -f x .",
        "git diff -U --output=x",
        "git diff --unified --output=x",
        "git log --min-parents --output=x",
        "git log --format --output=x",
        "git shortlog -n --output=x",
        "git shortlog --committer --output=x",
        "git blame --abbrev --contents=x y",
        "git log --format=%G?",
        "git show --pretty=%+GS",
        "git for-each-ref --format='%(signature)'",
        "git tag --sort=-signature",
        "git -c log.showSignature=true log",
        "git --help status",
        "git diff --output=x",
        "git diff --no-index a b",
        "git log --ext-diff",
        "git grep -O x",
        "git log $x",
        "git cat-file --textconv x",
    ],
)
def test_git_does_more_than_show(text: str):
    assert isinstance(describe_git(words_of(text)), Undescribed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("git -C x --no-pager push -f", "git push -f"),
        ("/usr/bin/git -c a=b push", "/usr/bin/git push"),
        ("git push", "git push"),
        ("git -C x", "git"),
        ("hg -C x push", "hg -C x push"),
    ],
)
def test_options_before_the_subcommand_are_taken_away(text: str, expected: str):
    assert " ".join(word.text for word in without_global_options(words_of(text))) == expected


@pytest.mark.parametrize(
    ("text", "folders"),
    [
        ("git -C a -C b status", ["a", "a/b"]),
        ("git -C a -C /b status", ["a", "/b"]),
        ("git --no-pager -C a status", ["a"]),
        ("git status -C a", []),
        ("git -C", []),
        ("git", []),
    ],
)
def test_the_folders_that_git_goes_to_are_known(text: str, folders: list[str]):
    assert [word.text for word in folder_options(words_of(text))] == folders
