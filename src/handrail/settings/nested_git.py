"""Repositories in and below a folder that would run something when git is used in them.

`git -C sub status` and `cd sub && git status` read the configuration of `sub`, and `git status` above it enters every
submodule. A nested repository is trusted on its own: an acceptance of the folder above does not cover it.

The whole tree is searched, because a clone can contain a folder that looks like a git directory at any depth. The
search remembers the names in each folder as long as its modification time stays the same, so repeating it costs one
`stat` per folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from handrail.settings.git_config import git_entries, hook_folders, is_hook_script
from handrail.settings.git_folders import git_directories, looks_like_git
from handrail.settings.load import look

__all__ = ["MOST_FOLDERS", "NestedGit", "may_run_git"]

MOST_FOLDERS: Final = 50_000
"""Above this many folders the search is given up, and git is not run unasked."""


_QUOTES: Final = str.maketrans("", "", "'\"\\\n$")


def may_run_git(command: object) -> bool:
    """Whether a shell command contains the word git, however it is quoted."""
    return isinstance(command, str) and "git" in command.translate(_QUOTES).lower()


class _Folder(NamedTuple):
    modified: int
    below: tuple[str, ...]
    is_repository: bool


class NestedGit:
    """Searches folders for repositories, again and again.

    `home` is the config home, where accepted folders are stored, and `state_file` the state file of the CLI, if they
    are not the usual ones.
    """

    def __init__(
        self, home: str | None = None, *, state_file: str | None = None, most_folders: int = MOST_FOLDERS
    ) -> None:
        self._home, self._state_file, self._most = home, state_file, most_folders
        self._known: dict[str, _Folder] = {}

    def unsafe(self, folder: str, more: Sequence[str] = (), *, accepted: bool = False) -> str:
        """The first repository in or below one of these folders that would run something the user did not accept.

        Returns "" if all are safe, and `folder` if there are too many folders to search. `accepted`: the repository
        of `folder` itself is trusted.
        """
        starts = [os.path.realpath(path) for path in (folder, *more)]
        checked = set(git_directories(starts[0])) if accepted else set[str]()
        seen: dict[str, _Folder] = {}
        for path in (*starts, *self._repositories(starts.copy(), seen)):
            places = [place for place in git_directories(path) if place not in checked]
            if any(map(_has_settings, places)) and self._runs_unaccepted(path):
                return path
            checked.update(places)  # a git directory is also found by itself, below its repository
        self._known = seen
        return starts[0] if len(seen) > self._most else ""

    def _runs_unaccepted(self, path: str) -> bool:
        entries, problems = git_entries(path)
        runs = bool(entries or problems) or any(map(_has_hook, hook_folders(path, entries)))
        return runs and not look(path, self._home, state_file=self._state_file).vouched_for

    def _repositories(self, waiting: list[str], seen: dict[str, _Folder]) -> Iterator[str]:
        """Every folder that is or contains a git directory. Links are not followed."""
        for path in waiting:  # it grows during the search
            if path in seen:
                continue
            if len(seen) > self._most:
                return
            found = self._look(path)
            if found is None:
                continue
            seen[path] = found
            if found.is_repository:
                yield path
            waiting += [os.path.join(path, name) for name in found.below]

    def _look(self, path: str) -> _Folder | None:
        try:
            modified = os.stat(path, follow_symlinks=False).st_mtime_ns
            known = self._known.get(path)
            if known is not None and known.modified == modified:
                return known
            with os.scandir(path) as entries:
                names = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        except OSError:  # removed meanwhile, not a folder, or unreadable for git too
            return None
        is_git = looks_like_git(names)
        # The 256 folders of objects hold no repository that git would find.
        below = tuple(name for name, is_folder in names.items() if is_folder and not (is_git and name == "objects"))
        return _Folder(modified, below, is_git or ".git" in names)


def _has_settings(place: str) -> bool:
    return any(os.path.lexists(os.path.join(place, name)) for name in ("config", "config.worktree", "hooks"))


def _has_hook(folder: str) -> bool:
    try:
        return any(is_hook_script(os.path.join(folder, name)) for name in os.listdir(folder))
    except OSError:
        return False
