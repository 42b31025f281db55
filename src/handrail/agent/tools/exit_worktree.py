"""ExitWorktree: returns to the original folder, and keeps or removes the worktree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from handrail.agent.tools.base import Outcome, Tool, ToolFailed
from handrail.agent.tools.desk import Worktree
from handrail.agent.tools.worktrees import Worktrees
from handrail.schema.tool_results import ExitWorktreeResult
from handrail.schema.view import as_builtins

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk

__all__ = ["ExitWorktree"]


class ExitWorktreeInput(Struct, frozen=True):
    """What becomes of the worktree."""

    action: Annotated[Literal["keep", "remove"], Meta(description="Keep the worktree and its branch, or delete both.")]
    discard_changes: Annotated[bool, Meta(description="Remove it even with unsaved work. Ask the user first.")] = False


class ExitWorktree(Tool[ExitWorktreeInput]):
    """Leaves the worktree."""

    name = "ExitWorktree"
    description = """\
Leaves the worktree that EnterWorktree entered, and continues the session in the original folder.

- Only if the user asks to leave it. `keep` leaves folder and branch as they are; `remove` deletes both.
- `remove` is refused if there are uncommitted files, or commits that no other branch has. Tell the user what would be \
lost, and set discard_changes only if they agree.
- It removes only a worktree that this session made. Fails if the session is in none."""
    Input = ExitWorktreeInput

    async def check(self, given: ExitWorktreeInput, desk: Desk) -> None:
        worktree = desk.worktree
        if worktree is None:
            raise ToolFailed("The session is in no worktree that EnterWorktree entered. Nothing was changed.")
        if given.action == "remove" and not worktree.owned:
            raise ToolFailed(
                f"This session did not make the worktree at {worktree.path}, so it cannot remove it. Leave with keep."
            )
        if given.action == "remove" and not given.discard_changes:
            await _refuse_loss(worktree, desk)

    async def run(self, given: ExitWorktreeInput, desk: Desk) -> Outcome:
        worktree = desk.worktree
        if worktree is None:
            raise ToolFailed("The session is in no worktree.")
        removes = given.action == "remove"
        files, commits = 0, 0
        if removes and not worktree.by_hook:
            files, commits = await Worktrees(worktree.path, desk.environment).unsaved(worktree.branch)
        if removes and not given.discard_changes and (files or commits):  # something changed since the check
            await _refuse_loss(worktree, desk)
        desk.worktree = None
        desk.project = desk.cwd = worktree.original
        desk.use_folder("")
        if removes and worktree.by_hook:
            await desk.worktree_hooks("WorktreeRemove", worktree_path=worktree.path)
        elif removes:
            await Worktrees(worktree.original, desk.environment).remove(worktree)
        what = f"Removed the worktree at {worktree.path}" if removes else f"The worktree stays at {worktree.path}"
        lost = f" Discarded: {_count(files, commits)}." if files or commits else ""
        message = f"{what}.{lost} The session is back in {worktree.original}."
        result = ExitWorktreeResult(
            action=given.action,
            original_cwd=worktree.original,
            worktree_path=worktree.path,
            worktree_branch=worktree.branch,
            restored_cwd=worktree.original,
            message=message,
        )
        if removes:
            result.discarded_files, result.discarded_commits = files, commits
        return Outcome(message, as_builtins(result))


async def _refuse_loss(worktree: Worktree, desk: Desk) -> None:
    """Raise ToolFailed if removing the worktree would lose work, or if that is unknown."""
    if worktree.by_hook:
        lost = "may have unsaved work, which cannot be checked"
    else:
        files, commits = await Worktrees(worktree.path, desk.environment).unsaved(worktree.branch)
        if not files and not commits:
            return
        lost = f"has {_count(files, commits)}"
    raise ToolFailed(
        f"The worktree {lost}. Removing it would lose that. Ask the user, then set discard_changes, or use keep."
    )


def _count(files: int, commits: int) -> str:
    parts = ((files, "uncommitted file"), (commits, "commit"))
    return " and ".join(f"{number} {word}{'s' if number > 1 else ''}" for number, word in parts if number)
