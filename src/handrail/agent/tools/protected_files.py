"""Files that commands in a sandbox must not change, and putting them back where the kernel cannot protect them.

Bubblewrap mounts them read-only. Landlock grants whole folders, so with it they are compared after each command and
restored. A program outside that uses one of them while the command runs sees the change.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from handrail.agent.tools.base import ToolFailed

__all__ = ["Snapshot", "protected_files", "protected_folders", "take_snapshot"]

_FOLDERS: Final = (".git/hooks", ".claude", ".vscode", ".idea")
_FILES: Final = (".git/config", ".mcp.json")
"""Programs run these outside the sandbox, or read from them what to run."""
_OF_A_WORKTREE: Final = ("commondir", "gitdir")
"""Files in the data of a repository that say where a worktree and its configuration are."""

_MOST_FILES: Final = 2000
_MOST_BYTES: Final = 16 * 1024 * 1024


class _State(Struct, frozen=True):
    """A file: its mode, and its bytes or the target of a link; None for a folder."""

    mode: int
    content: bytes | str | None


class Snapshot(Struct, frozen=True):
    """The protected files of some folders as they were."""

    roots: tuple[str, ...]
    files: dict[str, _State]

    def restore(self) -> list[str]:
        """Put back what has changed. Returns the paths that were restored."""
        now = dict(_states(self.roots))
        changed = [path for path in {**self.files, **now} if self.files.get(path) != now.get(path)]
        for path in sorted(changed, reverse=True):  # what is in a folder before the folder
            before = self.files.get(path)
            if path in now and (before is None or before.content is not None or now[path].content is not None):
                _remove(path)
        for path in sorted(changed):
            if (before := self.files.get(path)) is not None:
                _put_back(path, before)
        return sorted(changed)


def protected_folders(folders: Iterable[str], git_folder: str = "") -> list[str]:
    """The folders that commands must not change. `git_folder` has the data of the repository of a worktree."""
    paths = [os.path.join(folder, name) for folder in folders for name in _FOLDERS]
    return [*paths, os.path.join(git_folder, "hooks")] if git_folder else paths


def protected_files(folders: Sequence[str], git_folder: str = "") -> list[str]:
    """The files that commands must not change."""
    paths = [os.path.join(folder, name) for folder in folders for name in _FILES]
    if not git_folder:
        return paths
    paths.append(os.path.join(git_folder, "config"))
    # The file .git of a worktree names the folder with its data.
    paths += [path for folder in folders if os.path.isfile(path := os.path.join(folder, ".git"))]
    worktrees = os.path.join(git_folder, "worktrees")
    with contextlib.suppress(OSError):
        paths += [os.path.join(worktrees, name, file) for name in os.listdir(worktrees) for file in _OF_A_WORKTREE]
    return paths


def take_snapshot(folders: Sequence[str], git_folder: str = "") -> Snapshot:
    """Remember the protected files of some folders. Raises ToolFailed if they are too many or too large."""
    roots = [*protected_folders(folders, git_folder), *protected_files(folders, git_folder)]
    files: dict[str, _State] = {}
    left = _MOST_BYTES
    for path, state in _states(roots):
        files[path] = state
        left -= len(state.content or "")
        if len(files) > _MOST_FILES or left < 0:
            raise ToolFailed(
                f"The files to protect in the sandbox are too many or too large, for example {path}, so the command "
                "was not run. Install bubblewrap, which protects them without a copy."
            )
    return Snapshot(tuple(roots), files)


def _states(paths: Iterable[str]) -> Iterator[tuple[str, _State]]:
    for path in paths:
        try:
            mode = os.lstat(path).st_mode
            if os.path.islink(path):
                yield path, _State(mode, os.readlink(path))
            elif os.path.isdir(path):
                yield path, _State(mode, None)
                yield from _states(os.path.join(path, name) for name in sorted(os.listdir(path)))
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    yield path, _State(mode, file.read(_MOST_BYTES + 1))
            else:
                yield path, _State(mode, "")
        except OSError:
            continue


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)


def _put_back(path: str, state: _State) -> None:
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if isinstance(state.content, str):
            os.symlink(state.content, path)
            return
        if state.content is None:
            os.makedirs(path, exist_ok=True)
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(path, flags, 0o600), "wb") as file:
                file.write(state.content)
        os.chmod(path, state.mode & 0o7777)
