"""The entries of a git configuration that run programs, and the hook scripts of a repository.

Git starts programs that its configuration names, also for `git status`: a file system monitor, hooks, filters, pagers.
A clone does not bring them along, but an archive of a repository, or a repository inside of another, does.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from handrail.settings.files import Problem
from handrail.settings.git_config_text import GitEntry, read_git_config
from handrail.settings.git_folders import git_directories, inside_git
from handrail.settings.git_keys import kind_of_key, runs_something
from handrail.settings.plain_file import Unreadable, read_bytes

__all__ = ["GitEntry", "git_entries", "git_guard", "hook_folders", "is_hook_script", "read_git_config"]

_NEUTRAL = {
    "core.fsmonitor": "false",
    "core.hookspath": os.devnull,
    "core.sshcommand": "ssh",
    "core.pager": "cat",
    "core.editor": "false",
    "core.askpass": "false",
    "core.gitproxy": "",
    "core.alternaterefscommand": "false",
    "core.attributesfile": os.devnull,
    "sequence.editor": "false",
    "gpg.program": "false",
    "diff.external": "",
    "credential.helper": "",
    "interactive.difffilter": "cat",
    "uploadpack.packobjectshook": "",
    "protocol.ext.allow": "never",
}


MOST_FILES = 32
"""How many configuration files are read, those that others include among them."""


def git_entries(folder: str) -> tuple[list[GitEntry], list[Problem]]:
    """The entries that would run something, also of included files, and the files that could not be read."""
    entries: list[GitEntry] = []
    problems: list[Problem] = []
    names = ("config", "config.worktree")
    waiting = [os.path.join(directory, name) for directory in git_directories(folder) for name in names]
    for path in waiting:  # it grows while it is read
        try:
            text = (read_bytes(path) or b"").decode("utf-8", "replace")
        except Unreadable as error:
            problems.append(Problem(path, str(error)))
            continue
        found = [entry for entry in read_git_config(text, path) if runs_something(entry.name, entry.value)]
        entries += [entry for entry in found if not _is_own_worktree(entry)]
        included = [_included(entry) for entry in found if entry.name.startswith("include") and entry.value]
        waiting += [file for file in dict.fromkeys(included) if file not in waiting][: MOST_FILES - len(waiting)]
    return entries, problems


def _is_own_worktree(entry: GitEntry) -> bool:
    """Whether it is the entry that git writes for a submodule: its files have a `.git` that leads back here."""
    if entry.name != "core.worktree":
        return False
    place = os.path.dirname(entry.path)
    files = os.path.normpath(os.path.join(place, os.path.expanduser(entry.value)))
    return os.path.realpath(place) in map(os.path.realpath, git_directories(files)[:1])


def _included(entry: GitEntry) -> str:
    """The file that an entry includes, relative to the file of the entry."""
    return os.path.normpath(os.path.join(os.path.dirname(entry.path), os.path.expanduser(entry.value)))


def hook_folders(folder: str, entries: Iterable[GitEntry]) -> list[str]:
    """The folders of hook scripts: git's own, and those that the configuration names."""
    top = inside_git(folder)[-1]
    named = [entry.value for entry in entries if entry.name == "core.hookspath" and entry.value]
    own = [os.path.join(directory, "hooks") for directory in git_directories(folder)]
    return own + [os.path.normpath(os.path.join(top, os.path.expanduser(path))) for path in named]


def is_hook_script(path: str) -> bool:
    """Whether git would run a file of a hook folder. The samples that git itself puts there are not run."""
    return not path.endswith(".sample") and os.access(path, os.X_OK)


def git_guard(entries: Iterable[GitEntry], *, has_hooks: bool) -> Mapping[str, str]:
    """Variables under which git does not run what its configuration names, as far as one value can undo another."""
    names = {entry.name for entry in entries}
    included = any(name.startswith("include") for name in names)  # the content of such a file is not known here
    pairs = {name: value for name, value in _NEUTRAL.items() if included or name in names}
    pairs |= {name: "" for name in sorted(names) if kind_of_key(name).startswith("filter.")}
    if has_hooks:
        pairs["core.hookspath"] = os.devnull
    guard = {key: text for i, (name, value) in enumerate(pairs.items()) for key, text in _pair(i, name, value)}
    return {"GIT_CONFIG_COUNT": str(len(pairs)), **guard} if pairs else {}


def _pair(index: int, name: str, value: str) -> Iterator[tuple[str, str]]:
    yield f"GIT_CONFIG_KEY_{index}", name
    yield f"GIT_CONFIG_VALUE_{index}", value
