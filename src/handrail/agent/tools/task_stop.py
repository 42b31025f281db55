"""TaskStop: ends a background task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta, Struct

from handrail.agent.tools.base import Outcome, Tool, ToolFailed
from handrail.schema.tool_results import TaskStopResult
from handrail.schema.view import as_builtins

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk

__all__ = ["TaskStop"]


class TaskStopInput(Struct, frozen=True):
    """Which task."""

    task_id: Annotated[str, Meta(description="The id of the background task.")] = ""
    shell_id: Annotated[str, Meta(description="The old name of task_id.")] = ""

    @property
    def id(self) -> str:
        """The id under either name."""
        return self.task_id or self.shell_id


class TaskStop(Tool[TaskStopInput]):
    """Ends a background task."""

    name = "TaskStop"
    description = """\
Ends a background task: a command, a monitor or a subagent. Everything that a command started ends with it.

Use it for a server, watcher or subagent that is no longer needed or that does the wrong thing. The id is in the \
result of the call that started the task. A task that has ended by itself needs no TaskStop and cannot be stopped: \
the call fails. Output so far stays in the task's output file."""
    Input = TaskStopInput

    async def check(self, given: TaskStopInput, desk: Desk) -> None:
        if not given.id:
            raise ToolFailed("Missing required parameter: task_id")
        if desk.tasks is None or desk.tasks.find(given.id) is None:
            raise _not_found(given.id)

    async def run(self, given: TaskStopInput, desk: Desk) -> Outcome:
        task = await desk.tasks.stop(given.id, by="parent") if desk.tasks else None
        if task is None:
            raise _not_found(given.id)
        what = task.command or task.description
        message = f"Successfully stopped task: {task.id} ({what})"
        detail = as_builtins(TaskStopResult(message=message, task_id=task.id, task_type=task.kind, command=what))
        return Outcome(msgspec.json.encode(detail).decode(), detail)


def _not_found(id: str) -> ToolFailed:
    return ToolFailed(f"No task found with ID: {id}")
