"""The state of the git repository when a session starts: branch, status and recent commits.

A repository can make git start programs, even for `git status`. So the configuration is read first, and git
runs with every such entry neutralised; where one cannot be, only the branch is read, from `.git/HEAD`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from handrail.agent.run_program import ProgramFailed, run_program
from handrail.settings.git_branch import git_branch
from handrail.settings.git_config import git_entries, git_guard
from handrail.settings.git_folders import inside_git
from handrail.settings.plain_file import Unreadable, read_bytes

__all__ = ["git_snapshot"]

TIME_LIMIT: Final = 2.0
"""Seconds that git may take. In a huge repository the session starts without a status."""
LONGEST: Final = 2000
"""Characters of the status."""
COMMITS: Final = 5
_NEUTRAL: Final = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "log.showSignature=false")
_CANNOT_BE_UNDONE: Final = ("include", "core.worktree")
_STATUS: Final = ("status", "--short", "--ignore-submodules=all", "--no-renames")
_LOG: Final = ("log", f"-{COMMITS}", "--oneline", "--no-decorate", "--no-color", "--no-show-signature")


async def git_snapshot(folder: str, environment: Mapping[str, str]) -> str:
    """A text about the repository around a folder; "" outside of one. `environment` is that of child processes."""
    top, branch = inside_git(folder)[-1], git_branch(folder)
    if not branch:
        return ""
    lines = [f"Git branch: {branch}" if branch != "HEAD" else "Git branch: none (detached HEAD)"]
    main = _main_branch(top)
    if main and main != branch:
        lines.append(f"Main branch: {main}")
    entries, problems = git_entries(folder)
    if problems or any(entry.name.startswith(_CANNOT_BE_UNDONE) for entry in entries):
        return "\n".join([*lines, "Git status was not read, because the repository's configuration may run programs."])
    variables = {**environment, **git_guard(entries, has_hooks=True)}
    variables |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    status, log = await asyncio.gather(_git(folder, variables, _STATUS), _git(folder, variables, _LOG))
    if status is not None:
        lines.append(f"Git status:\n{_shortened(status)}" if status else "Git status: clean")
    if log:
        lines.append(f"Recent commits:\n{log[:LONGEST]}")
    return "\n".join([*lines, "This is how the repository was when the session started; it is not updated."])


async def _git(folder: str, environment: Mapping[str, str], arguments: tuple[str, ...]) -> str | None:
    """The output of git; None if it failed or took too long."""
    settings = [word for pair in _NEUTRAL for word in ("-c", pair)]
    argv = ("git", "--no-pager", *settings, *arguments)
    try:
        ran = await run_program(argv, cwd=folder, environment=environment, time_limit=TIME_LIMIT)
    except ProgramFailed:
        return None
    return None if ran.code else ran.output.decode("utf-8", "replace").rstrip()


def _shortened(status: str) -> str:
    if len(status) <= LONGEST:
        return status
    kept = status[:LONGEST].rpartition("\n")[0]
    more = status.count("\n") - kept.count("\n")
    return f"{kept}\n[{more:,} more files; run `git status` to see them]"


def _main_branch(top: str) -> str:
    """The branch that others start from: that of `origin`, else main or master, as far as the files say."""
    place = os.path.join(top, ".git")
    origin = os.path.join(place, "refs", "remotes", "origin", "HEAD")
    with suppress(Unreadable):
        if data := read_bytes(origin, limit=500):
            return data.decode("utf-8", "replace").strip().rpartition("refs/remotes/origin/")[2]
    names = ("main", "master")
    return next((name for name in names if os.path.isfile(os.path.join(place, "refs", "heads", name))), "")
