"""Git commands: which options run other programs, and which subcommands only read.

A subcommand that is not listed may be an alias, and an alias can run anything.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from handrail.permissions.programs.description import Parsed, Undescribed, parse
from handrail.permissions.programs.options import Finding, Hazards, find_hazard, hazards
from handrail.permissions.programs.tables.git_commands import GIT_COMMANDS
from handrail.permissions.shell.words import HERE, HOME, Word, is_option

__all__ = [
    "asks_for_identity",
    "describe_git",
    "folder_options",
    "git_hazard",
    "reads_with_git",
    "without_global_options",
]

_HARMLESS_GLOBAL: Final = frozenset(
    "-p --paginate -P --no-pager --no-replace-objects --no-lazy-fetch --no-optional-locks --no-advice"
    " --literal-pathspecs"
    " --glob-pathspecs --noglob-pathspecs --icase-pathspecs --version --help -h -v".split()
)
_GLOBAL_WITH_VALUE: Final = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"}
)

_HARMLESS_SETTING: Final = re.compile(
    r"(?:color\.[\w.]+|core\.quotepath|advice\.\w+|user\.(?:name|email)|log\.(?!showsignature)\w+|core\.autocrlf)=.*|core\.pager=(?:cat)?",
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
_READS: Final = frozenset(
    """
    annotate archive blame cat-file check-attr check-ignore check-mailmap check-ref-format cherry count-objects describe
    diff diff-files diff-index diff-tree for-each-ref fsck grep help log ls-files ls-tree merge-base name-rev
    range-diff rev-list rev-parse shortlog show show-branch show-ref status var verify-commit verify-tag whatchanged
    """.split()
) | {"submodule status", "submodule summary"}
"""Subcommands that only read with all of their options, apart from those that name a file to write."""
_ADDRESS: Final = re.compile(r"(?:--[a-z-]+=)?[a-z0-9+-]+(?:::|://-)", re.IGNORECASE)
_TALKS: Final = frozenset({"clone", "fetch", "pull", "push", "ls-remote", "remote", "submodule", "archive"})


def _after_global_options(words: tuple[Word, ...]) -> tuple[int, int]:
    """The index of the subcommand, and of the last global option that is not harmless (0 for none)."""
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
    """Whether it is a known folder, or a setting that git only uses to print."""
    if option == "-C":
        return all(word.known for word in value)
    return option == "-c" and all(word.fixed and _HARMLESS_SETTING.fullmatch(word.text) for word in value)


def without_global_options(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """`git -C x --no-pager push` → `git push`; other commands stay unchanged."""
    if words[0].text.rpartition("/")[2] != "git":
        return words
    at, _ = _after_global_options(words)
    return (words[0], *words[at:])


def folder_options(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The folders of `git -C`. Each is below the one before it, unless it begins at the root."""
    at, _ = _after_global_options(words)
    found: list[Word] = []
    for index in range(1, min(at, len(words)) - 1):
        if words[index].text == "-C":
            word = words[index + 1]
            below = bool(found) and not word.text.startswith(("/", HOME, HERE))
            found.append(replace(word, text=f"{found[-1].text}/{word.text}", values=None) if below else word)
    return tuple(found)


def git_hazard(words: tuple[Word, ...]) -> Finding | None:
    """The argument with which a git command would run or overwrite something that its caller chose."""
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
        sets = _sets_something(words[at:])
        return Finding(len(words) - 1, "what is set there can make git run other programs") if sets else None
    if name in _TALKS:
        for index, word in enumerate(words[at + 1 :], at + 1):
            if _ADDRESS.match(word.text):
                return Finding(index, "this address can make git run other programs")
    found = find_hazard(_RUNS.get(name, hazards("", "")), words[at:])
    return Finding(found.index + at, found.why) if found else None


def _sets_something(words: tuple[Word, ...]) -> bool:
    """Whether `git config` changes a setting other than the user's name or email."""
    texts = [word.text for word in words[1:]]
    plain = [text for text in texts if not text.startswith("-")]
    if plain[:1] in (["user.name"], ["user.email"]) and all(text in (*plain, "--local", "--add") for text in texts):
        return False
    return isinstance(_described(words), Undescribed)


def describe_git(words: tuple[Word, ...]) -> Parsed | Undescribed:
    """Read a git command by the description of its subcommand."""
    at, risky = _after_global_options(words)
    # With `--help` git shows a manual page, by a viewer of the user's choice.
    helps = any(word.text in ("--help", "-h") for word in words[1:at])
    if risky or helps or at >= len(words) or any(not word.known for word in words[1 : at + 1]):
        return Undescribed(min(risky or at, len(words) - 1))
    found = _described(words[at:])
    return Undescribed(found.index + at) if isinstance(found, Undescribed) else found


def reads_with_git(words: tuple[Word, ...]) -> bool:
    """Whether a git command reads, as far as its subcommand shows."""
    at, risky = _after_global_options(words)
    names = [word.text for word in words[at : at + 2]]
    reads = bool(_READS.intersection((*names[:1], " ".join(names))))
    return not risky and (reads or isinstance(describe_git(words), Parsed))


def asks_for_identity(words: tuple[Word, ...]) -> bool:
    """Whether a git command prints the name or the address of the user, which are in the user's own configuration."""
    identity = frozenset({"user.name", "user.email", "GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"})
    named = [word.text for word in without_global_options(words)]
    return named[:1] == ["git"] and named[1:2] in (["config"], ["var"]) and named[-1] in identity


def _described(words: tuple[Word, ...]) -> Parsed | Undescribed:
    """Read a subcommand, of which the first or the first two words are its name."""
    pair = GIT_COMMANDS.get(" ".join(word.text for word in words[:2]))
    if len(words) > 1 and pair is not None:
        found = parse(words[1:], pair)
        return Undescribed(found.index + 1) if isinstance(found, Undescribed) else found
    name = "".join(word.text for word in words[:1])
    described = GIT_COMMANDS.get(name)
    if described is None:
        return Undescribed(0)
    found = parse(words, described)
    needed = _NEEDED.get(name)
    if needed and isinstance(found, Parsed) and found.of_kind("name") and not found.options & needed:
        prints = name == "config" and _is_one_key(found)
        return found if prints else Undescribed(len(words) - 1)
    return found


def _is_one_key(found: Parsed) -> bool:
    """Whether `git config` has one key and no value, and prints it. Without a dot it is a subcommand such as `edit`."""
    words = found.of_kind("name", "text")
    return len(words) == 1 and words[0].fixed and _KEY.fullmatch(words[0].text) is not None


_KEY: Final = re.compile(r"[A-Za-z][\w-]*\..+")
_LISTS: Final = frozenset({"-l", "--list", "--merged", "--no-merged", "--contains", "--no-contains", "--points-at"})
_NEEDED: Final = {"branch": _LISTS, "tag": _LISTS, "config": frozenset({"--get", "--get-all", "--get-regexp"})}
"""Without one of these options, a plain word makes the subcommand create or set something."""
