"""Git's own language. In: the words of a git command. Out: what it does: which option runs something, what only reads.

Subcommands that are not listed may be an alias, which can run anything.
"""

from __future__ import annotations

import re
from typing import Final

from handrail.permissions.bash_options import Finding, Hazards, find_hazard, hazards, is_option
from handrail.permissions.bash_words import Word

__all__ = ["folder_options", "git_hazard", "git_reads_only", "without_global_options"]

_HARMLESS_GLOBAL: Final = frozenset(
    "-p --paginate -P --no-pager --no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice"
    " --literal-pathspecs"
    " --glob-pathspecs --noglob-pathspecs --icase-pathspecs --version --help -h -v".split()
)
_GLOBAL_WITH_VALUE: Final = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"}
)

_HARMLESS_SETTING: Final = re.compile(
    r"(?:color\.[\w.]+|core\.quotepath|advice\.\w+|user\.(?:name|email)|log\.\w+|core\.autocrlf)=.*|core\.pager=(?:cat)?",
    re.IGNORECASE,
)

_RUNS: Final[dict[str, Hazards]] = {
    "archive": hazards("o", "output exec remote"),
    "bisect": hazards("", "", words="run"),
    "blame": hazards("", "contents"),
    "bundle": hazards("", "", words="create unbundle"),
    "clone": hazards("cu", "config upload-pack template separate-git-dir"),
    "config": hazards("", ""),
    **dict.fromkeys(
        "diff diff-files diff-index diff-tree log range-diff reflog shortlog show stash whatchanged".split(),
        hazards("", "output ext-diff"),
    ),
    "fetch": hazards("", "upload-pack exec"),
    "format-patch": hazards("", "output"),
    "grep": hazards("O", "open-files-in-pager ext-grep"),
    "init": hazards("", "template separate-git-dir"),
    "ls-remote": hazards("", "upload-pack exec"),
    "notes": hazards("", "", words="edit"),
    "pull": hazards("", "upload-pack exec"),
    "push": hazards("", "receive-pack exec"),
    "rebase": hazards("x", "exec"),
    "remote": hazards("", "upload-pack exec"),
    "submodule": hazards("", "", words="foreach"),
    "update-index": hazards("", "fsmonitor"),
}
_PLAIN: Final = frozenset(
    """
    add am apply branch cat-file check-attr check-ignore check-mailmap check-ref-format checkout cherry
    cherry-pick clean
    commit commit-tree count-objects describe fsck for-each-ref gc hash-object help
    ls-files ls-tree merge merge-base merge-tree mv name-rev pack-refs patch-id prune read-tree
    repack replace
    reset restore rev-list rev-parse revert rm show-branch show-ref sparse-checkout status stripspace switch
    symbolic-ref
    tag update-ref var verify-commit verify-tag version worktree write-tree
    """.split()
)
_ADDRESS: Final = re.compile(r"(?:--[a-z-]+=)?[a-z0-9+-]+(?:::|://-)", re.IGNORECASE)
_TALKS: Final = frozenset({"clone", "fetch", "pull", "push", "ls-remote", "remote", "submodule", "archive"})

_READS: Final[dict[str, Hazards]] = {
    "blame": hazards("", "contents"),
    "cat-file": hazards("", "textconv filters"),
    "cherry": hazards("", ""),
    "count-objects": hazards("", ""),
    "describe": hazards("", ""),
    "diff": hazards("", "output ext-diff textconv no-index"),
    "for-each-ref": hazards("", ""),
    "grep": hazards("Of", "open-files-in-pager ext-grep textconv no-index"),
    "log": hazards("", "output ext-diff textconv"),
    "ls-files": hazards("X", "exclude-from"),
    "ls-tree": hazards("", ""),
    "merge-base": hazards("", ""),
    "name-rev": hazards("", "stdin annotate-stdin"),
    "rev-list": hazards("", ""),
    "rev-parse": hazards("", "parseopt sq-quote"),
    "shortlog": hazards("", "output ext-diff"),
    "show": hazards("", "output ext-diff textconv"),
    "show-ref": hazards("", "exclude-existing"),
    "status": hazards("", ""),
    "version": hazards("", ""),
}
_LISTS: Final[dict[str, re.Pattern[str]]] = {
    "branch": re.compile(
        r"((-a|-r|-v|-vv|-av|-avv|-ra|--all|--remotes|--list|--show-current|-l|--verbose|--no-color|--color) )*"
    ),
    "tag": re.compile(r"((-l|--list|-n\d*) )*"),
    "remote": re.compile(r"((-v|--verbose) )*"),
    "stash": re.compile(r"list "),
    "worktree": re.compile(r"list ((--porcelain|-v|--verbose) )*"),
    "reflog": re.compile(r"(show )?((-n\d*|-\d+|-n \d+) )*"),
    "config": re.compile(r"((--list|-l|--get|--show-origin|--show-scope|--local|list|get) )+"),
}
"""Subcommands that list with these words alone, each with a blank behind it; others make some of them change things."""
_LIST_PATTERNS: Final = frozenset({"tag", "branch"})
_GETS: Final = re.compile(r"[a-z][\w.-]*", re.IGNORECASE)


def _after_global_options(words: tuple[Word, ...]) -> tuple[int, int]:
    """Where the subcommand stands, and the last global option that is not harmless (0 for none)."""
    at, risky = 1, 0
    while at < len(words) and is_option(words[at]):
        text = words[at].text
        if text in _GLOBAL_WITH_VALUE:
            at += 1
            risky = risky if _is_harmless_value(text, words[at : at + 1]) else at
        elif text not in _HARMLESS_GLOBAL:
            risky = at
        at += 1
    return at, risky


def _is_harmless_value(option: str, value: tuple[Word, ...]) -> bool:
    """A folder that is known, or a setting that git only uses to print."""
    if option == "-C":
        return all(word.known for word in value)
    return option == "-c" and all(word.fixed and _HARMLESS_SETTING.fullmatch(word.text) for word in value)


def without_global_options(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """`git -C x --no-pager push` → `git push`; other commands as they are."""
    if words[0].text.rpartition("/")[2] != "git":
        return words
    at, _ = _after_global_options(words)
    return (words[0], *words[at:])


def folder_options(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The folders that `git -C` goes to."""
    at, _ = _after_global_options(words)
    return tuple(words[index + 1] for index in range(1, min(at, len(words)) - 1) if words[index].text == "-C")


def git_hazard(words: tuple[Word, ...]) -> Finding | None:
    """The argument by which a git command would run or overwrite something of its caller's choice."""
    at, risky = _after_global_options(words)
    if risky:
        return Finding(
            min(risky, len(words) - 1), "an option of git before its subcommand can make it run other programs"
        )
    if at >= len(words):
        return None
    name = words[at].text
    if not words[at].fixed or (name not in _RUNS and name not in _PLAIN):
        return Finding(at, "this may be an alias of git, which can run anything")
    if name == "config":
        sets = _sets_something(words[at + 1 :])
        return Finding(len(words) - 1, "what is set there can make git run other programs") if sets else None
    if name in _TALKS:
        for index, word in enumerate(words[at + 1 :], at + 1):
            if _ADDRESS.match(word.text):
                return Finding(index, "this address can make git run other programs")
    found = find_hazard(_RUNS.get(name, hazards("", "")), words[at:])
    return Finding(found.index + at, found.why) if found else None


def _sets_something(words: tuple[Word, ...]) -> bool:
    """`git config key value` and its kin; the user's own name is no risk."""
    texts = [word.text for word in words]
    plain = [text for text in texts if not text.startswith("-")]
    if plain[:1] in (["user.name"], ["user.email"]) and all(text in (*plain, "--local", "--add") for text in texts):
        return False
    return not git_lists("config", words)


def git_lists(name: str, words: tuple[Word, ...]) -> bool:
    """Do these words make a subcommand list, and nothing else?"""
    if not all(word.fixed for word in words):
        return False
    texts = [word.text for word in words]
    if (
        name == "config"
        and len(texts) > 1
        and _GETS.fullmatch(texts[-1])
        and texts[-2] in ("--get", "get", "--get-all")
    ):
        texts = [*texts[:-2], "--get"]
    if name in _LIST_PATTERNS and texts[:1] in (["-l"], ["--list"]):
        texts = [text for text in texts if text.startswith("-")]
    return bool(_LISTS[name].fullmatch("".join(f"{text} " for text in texts)))


def git_reads_only(words: tuple[Word, ...]) -> bool:
    """Does this git command only show what is there?"""
    at, risky = _after_global_options(words)
    if risky or at >= len(words) or any(not word.known for word in words[1 : at + 1]):
        return not risky and [word.text for word in words[1:]] in (["--version"], ["version"])
    name, rest = words[at].text, words[at + 1 :]
    if name in _LISTS:
        return git_lists(name, rest)
    return name in _READS and find_hazard(_READS[name], words[at:]) is None
