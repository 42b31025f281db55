"""EnterWorktree: continues the session in a separate checkout of the repository."""

from __future__ import annotations

import os
import re
import secrets
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta, Struct

from handrail.agent.tools.base import Outcome, Tool, ToolFailed
from handrail.agent.tools.desk import Worktree
from handrail.agent.tools.worktrees import Worktrees
from handrail.files.resolve import real_path
from handrail.schema.tool_results import EnterWorktreeResult
from handrail.schema.view import as_builtins

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk

__all__ = ["EnterWorktree"]

_LONGEST_NAME: Final = 64
_NAME: Final = re.compile(r"(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._-]+(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._-]+)*")


class EnterWorktreeInput(Struct, frozen=True):
    """A new worktree, or an existing one."""

    name: Annotated[
        str,
        Meta(description="Name of the worktree: letters, digits, `.`, `_`, `-` and `/`, at most 64. Default: random."),
    ] = ""
    path: Annotated[str, Meta(description="An existing worktree below .claude/worktrees, instead of a name.")] = ""


class EnterWorktree(Tool[EnterWorktreeInput]):
    """Enters a worktree."""

    name = "EnterWorktree"
    description = """\
Makes a git worktree below .claude/worktrees, on a new branch, and continues the session in it. Files of the original \
folder are then outside the working folder.

- Only if the user or the project's instructions ask for a worktree. Not to switch branches or to begin a feature.
- The branch starts at the default branch of `origin`, or at HEAD without one or if the settings say so. \
Uncommitted changes stay behind, and so does everything that git ignores: dependencies may have to be installed again. \
Git filters, such as LFS, do not run.
- A name that exists is entered as it is. With `path`, also from within another worktree.
- Fails outside of a trusted git repository (unless a WorktreeCreate hook makes worktrees) and in plan mode. Leave \
with ExitWorktree."""
    Input = EnterWorktreeInput

    def describe(self, given: EnterWorktreeInput) -> str:
        return given.path or given.name

    async def check(self, given: EnterWorktreeInput, desk: Desk) -> None:
        if given.name and given.path:
            raise ToolFailed("Give either name or path, not both.")
        if given.name and (len(given.name) > _LONGEST_NAME or not _NAME.fullmatch(given.name)):
            raise ToolFailed(
                f"Invalid worktree name {given.name[:100]!r}: use parts of letters, digits, `.`, `_`, `-`, separated "
                f"by `/`, at most {_LONGEST_NAME} characters in all."
            )
        if desk.worktree is not None and not given.path:
            raise ToolFailed("The session is in a worktree already. Leave it with ExitWorktree, or give path.")
        if problem := desk.worktree_problem():
            raise ToolFailed(problem)

    async def run(self, given: EnterWorktreeInput, desk: Desk) -> Outcome:
        original = desk.worktree.original if desk.worktree else desk.project
        worktrees = Worktrees(original, desk.environment)
        if given.path:
            path, branch = await worktrees.find(given.path)
            worktree, how = Worktree(path, original, branch, git_folder=await worktrees.git_folder()), "Entered"
        else:
            worktree, how = await _make(given.name or secrets.token_hex(4), original, worktrees, desk)
        desk.worktree = worktree
        desk.project = desk.cwd = worktree.path
        desk.use_folder(worktree.path)
        where = f"{worktree.path}" + (f" on branch {worktree.branch}" if worktree.branch else "")
        message = f"{how} worktree at {where}. The session now works there; ExitWorktree leaves it."
        return Outcome(
            message,
            as_builtins(
                EnterWorktreeResult(worktree_path=worktree.path, worktree_branch=worktree.branch, message=message)
            ),
        )


async def _make(name: str, original: str, worktrees: Worktrees, desk: Desk) -> tuple[Worktree, str]:
    by_hook = await desk.worktree_hooks("WorktreeCreate", name=name)
    if by_hook is not None:
        path = real_path(os.path.join(original, by_hook)) if by_hook else ""
        if not path or not os.path.isdir(path):  # noqa: ASYNC240 - one look
            raise ToolFailed(f"The WorktreeCreate hook did not name an existing folder: {by_hook[:200]!r}")
        return Worktree(path, original, owned=True, by_hook=True), "Created"
    path, branch, is_new = await worktrees.make(name, from_head=desk.worktrees_from_head)
    worktree = Worktree(path, original, branch, owned=is_new, git_folder=await worktrees.git_folder())
    return worktree, "Created" if is_new else "Entered the existing"
