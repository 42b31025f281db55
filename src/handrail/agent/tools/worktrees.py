"""Git worktrees that a session works in: made below `.claude/worktrees`, entered, left and removed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from handrail.agent.run_program import ProgramFailed, run_program
from handrail.agent.tools.base import ToolFailed
from handrail.agent.tools.desk import Worktree
from handrail.files.resolve import real_path
from handrail.settings.git_config import git_entries, git_guard

__all__ = ["Worktrees"]

_TIME_LIMIT: Final = 120.0
_PLACE: Final = os.path.join(".claude", "worktrees")
_CANNOT_BE_UNDONE: Final = ("include", "core.worktree")
_LONGEST: Final = 1000


class Worktrees:
    """The worktrees of the repository around a folder. `environment` is that of child processes.

    Git runs no program that the repository configures: no hook, no filter, no monitor.
    """

    def __init__(self, folder: str, environment: Mapping[str, str]) -> None:
        self._folder, self._environment = folder, environment

    async def top(self) -> str:
        """The top folder of the repository. Raises ToolFailed outside of one."""
        try:
            return real_path(await self.git("rev-parse", "--show-toplevel"))
        except ToolFailed as error:
            raise ToolFailed(
                "Cannot create a worktree: not in a git repository, and no WorktreeCreate hook is configured."
            ) from error

    async def make(self, name: str, *, from_head: bool = False) -> tuple[str, str, bool]:
        """Make a worktree, or find the one with this name. Returns its path, its branch, and whether it is new.

        A new branch begins at the default branch of `origin`, if there is one, or at HEAD with `from_head`.
        """
        top, flat = await self.top(), name.replace("/", "+")
        path, branch = os.path.join(top, _PLACE, flat), f"worktree-{flat}"
        if real_path(path) != path:
            raise ToolFailed(f"Cannot create a worktree at {path}: the path leads through a link.")
        if found := (await self.listed()).get(path):
            return path, found, False
        if os.path.lexists(path):  # noqa: ASYNC240 - one look, before git is run
            raise ToolFailed(f"Cannot create a worktree at {path}: something else is there. Choose another name.")
        if await self._has(f"refs/heads/{branch}"):
            await self.git("worktree", "add", "--quiet", path, branch)
        else:
            remote = "refs/remotes/origin/HEAD"
            base = remote if not from_head and await self._has(remote) else "HEAD"
            await self.git("worktree", "add", "--quiet", "--no-track", "-b", branch, path, base)
        return path, branch, True

    async def find(self, path: str) -> tuple[str, str]:
        """The path and branch of an existing worktree. Raises ToolFailed for any other path."""
        real, top = real_path(os.path.join(self._folder, path)), await self.top()
        branch = (await self.listed()).get(real)
        if branch is None or os.path.dirname(real) != os.path.join(top, _PLACE):
            raise ToolFailed(f"Cannot enter {path}: it is not a worktree of this repository below {_PLACE}.")
        return real, branch

    async def listed(self) -> dict[str, str]:
        """The branches of all worktrees by path; "" for a detached one."""
        found: dict[str, str] = {}
        for record in (await self.git("worktree", "list", "--porcelain")).split("\n\n"):
            fields = {line.partition(" ")[0]: line.partition(" ")[2] for line in record.splitlines()}
            found[real_path(fields.get("worktree", ""))] = fields.get("branch", "").removeprefix("refs/heads/")
        return found

    async def remove(self, worktree: Worktree) -> None:
        """Delete a worktree and its branch."""
        await self.git("worktree", "remove", "--force", worktree.path)
        if worktree.branch:
            await self.git("branch", "--quiet", "-D", worktree.branch)

    async def unsaved(self, branch: str) -> tuple[int, int]:
        """The number of files with uncommitted changes, and of commits that no other branch has."""
        changed = (await self.git("status", "--porcelain", "--ignore-submodules=none")).splitlines()
        others = ("--not", f"--exclude={branch}", "--branches", "--remotes", "--tags")
        return len(changed), int(await self.git("rev-list", "--count", "HEAD", *others))

    async def git_folder(self) -> str:
        """The folder of the repository's data."""
        return real_path(await self.git("rev-parse", "--path-format=absolute", "--git-common-dir"))

    async def _has(self, name: str) -> bool:
        try:
            await self.git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        except ToolFailed:
            return False
        return True

    async def git(self, *arguments: str) -> str:
        """The output of git. Raises ToolFailed if it fails, or cannot be kept from running programs."""
        entries, problems = git_entries(self._folder)
        if problems or any(entry.name.startswith(_CANNOT_BE_UNDONE) for entry in entries):
            raise ToolFailed("Git was not run, because the repository's configuration may run programs.")
        variables = {**self._environment, **git_guard(entries, has_hooks=True), "GIT_TERMINAL_PROMPT": "0"}
        argv = ("git", "--no-pager", *arguments)
        try:
            ran = await run_program(argv, cwd=self._folder, environment=variables, time_limit=_TIME_LIMIT)
        except ProgramFailed as error:
            raise ToolFailed(f"git {arguments[0]} {error}.") from error
        if ran.code:
            raise ToolFailed(f"git {arguments[0]} failed: {ran.errors.decode('utf-8', 'replace').strip()[:_LONGEST]}")
        return ran.output.decode("utf-8", "surrogateescape").strip("\n")
