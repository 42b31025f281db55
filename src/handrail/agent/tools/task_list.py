"""TaskCreate, TaskGet, TaskList, TaskUpdate: the task list of a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct, field

from handrail.agent.tools.base import JsonObject, Outcome, Tool, ToolFailed
from handrail.agent.tools.saved_lists import SharedTask, SharedTasks

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk

__all__ = ["TaskCreate", "TaskGet", "TaskList", "TaskUpdate"]

TaskId = Annotated[str, Meta(description="The number of the task.")]
_NOT_FOUND = "Task not found"


class TaskCreateInput(Struct, frozen=True, rename="camel"):
    """The new task."""

    subject: Annotated[str, Meta(description="What to do, in a few words: `Run the tests`.")]
    description: Annotated[str, Meta(description="The work in detail.")]
    active_form: Annotated[str | None, Meta(description="The same while it is done: `Running the tests`.")] = None
    metadata: dict[str, Any] | None = None


class TaskCreate(Tool[TaskCreateInput]):
    """Adds a task to the list."""

    name = "TaskCreate"
    description = """\
Puts a task on the list that you and the user share. It begins as pending.

Use the list for work of three or more steps, or if the user gives several things to do; not for a single small step. \
One task per result, named by what is done ("Fix the login test")."""
    Input = TaskCreateInput
    strict = False
    other_names = {"title": "subject", "content": "subject"}
    kept_fields = frozenset({"metadata"})

    def renamed(self, input: JsonObject) -> JsonObject:
        """One text serves for both if the other is missing; an invalid value of an optional field is left out."""
        usable = {name: value for name, value in super().renamed(input).items() if _is_usable(name, value)}
        for name, other in (("subject", "description"), ("description", "subject")):
            if name not in usable and other in usable:
                usable[name] = usable[other]
        return usable

    async def run(self, given: TaskCreateInput, desk: Desk) -> Outcome:
        tasks = desk.state.tasks
        tasks.made += 1
        task = SharedTask(str(tasks.made), given.subject, given.description, given.active_form or "")
        task.metadata |= given.metadata or {}
        if refused := await desk.ask_hooks("TaskCreated", **_hook_fields(task)):
            raise ToolFailed(f"TaskCreated hook feedback:\n{refused}")
        tasks.by_id[task.id] = task
        desk.state.save_tasks()
        shown = {"id": task.id, "subject": task.subject, "description": task.description}
        return Outcome(f"Task #{task.id} created successfully: {task.subject}", {"task": shown})


def _is_usable(name: str, value: Any) -> bool:
    return isinstance(value, {"activeForm": str, "metadata": dict}.get(name, object))


class TaskGetInput(Struct, frozen=True, rename="camel"):
    """Which task."""

    task_id: TaskId


class TaskGet(Tool[TaskGetInput]):
    """Shows one task."""

    name = "TaskGet"
    description = """\
Shows one task of the list with its description and the tasks that it waits for. Read it before you begin the task."""
    Input = TaskGetInput
    concurrent = True

    async def run(self, given: TaskGetInput, desk: Desk) -> Outcome:
        task = desk.state.tasks.by_id.get(given.task_id)
        if task is None:
            return Outcome(_NOT_FOUND, {"task": None})
        lines = [f"Task #{task.id}: {task.subject}", f"Status: {task.status}", f"Description: {task.description}"]
        if task.blocked_by:
            lines.append(f"Blocked by: {_numbers(task.blocked_by)}")
        if task.blocks:
            lines.append(f"Blocks: {_numbers(task.blocks)}")
        shown: JsonObject = {"id": task.id, "subject": task.subject, "description": task.description}
        shown |= {"status": task.status, "blocks": list(task.blocks), "blockedBy": list(task.blocked_by)}
        return Outcome("\n".join(lines), {"task": shown})


class TaskListInput(Struct, frozen=True):
    """No fields."""


class TaskList(Tool[TaskListInput]):
    """Shows all tasks."""

    name = "TaskList"
    description = """\
Shows all tasks of the list: number, status, subject, owner, and the tasks they wait for. Look here for what is next \
after a task is completed."""
    Input = TaskListInput
    concurrent = True

    async def run(self, given: TaskListInput, desk: Desk) -> Outcome:
        tasks = desk.state.tasks.by_id.values()
        return Outcome("\n".join(map(_line, tasks)) or "No tasks found", {"tasks": [_row(task) for task in tasks]})


def _line(task: SharedTask) -> str:
    owner = f" ({task.owner})" if task.owner else ""
    waits = f" [blocked by {_numbers(task.blocked_by)}]" if task.blocked_by else ""
    return f"#{task.id} [{task.status}] {task.subject}{owner}{waits}"


def _row(task: SharedTask) -> JsonObject:
    row: JsonObject = {"id": task.id, "subject": task.subject, "status": task.status}
    if task.owner:
        row["owner"] = task.owner
    return row | {"blockedBy": list(task.blocked_by)}


def _numbers(ids: list[str]) -> str:
    return ", ".join(f"#{id}" for id in ids)


class TaskUpdateInput(Struct, frozen=True, rename="camel"):
    """The task and its new values."""

    task_id: TaskId
    subject: str | None = None
    description: str | None = None
    active_form: str | None = None
    owner: str | None = None
    status: Literal["pending", "in_progress", "completed", "deleted"] | None = None
    add_blocks: Annotated[list[str], Meta(description="Tasks that wait for this one.")] = field(
        default_factory=list[str]
    )
    add_blocked_by: Annotated[list[str], Meta(description="Tasks that this one waits for.")] = field(
        default_factory=list[str]
    )
    metadata: Annotated[dict[str, Any] | None, Meta(description="Keys to set; null removes one.")] = None


_PLAIN = (("subject", "subject"), ("description", "description"), ("active_form", "activeForm"), ("owner", "owner"))


class TaskUpdate(Tool[TaskUpdateInput]):
    """Changes a task."""

    name = "TaskUpdate"
    description = """\
Changes a task of the list: its status, texts, owner, or the tasks it waits for.

Set in_progress when you begin and completed as soon as it is done and checked; never for work that failed or is \
partly \
done: keep it open and add a task for what stops it. deleted takes it off the list."""
    Input = TaskUpdateInput
    other_names = {"id": "taskId", "task_id": "taskId"}

    async def run(self, given: TaskUpdateInput, desk: Desk) -> Outcome:
        tasks = desk.state.tasks
        task = tasks.by_id.get(given.task_id)
        if task is None:
            detail = {"success": False, "taskId": given.task_id, "updatedFields": [], "error": _NOT_FOUND}
            return Outcome(_NOT_FOUND, detail)
        before = task.status
        completes = given.status == "completed" != before
        if completes and (refused := await desk.ask_hooks("TaskCompleted", **_hook_fields(task))):
            feedback = f"TaskCompleted hook feedback:\n{refused}"
            return Outcome(feedback, {"success": False, "taskId": task.id, "updatedFields": [], "error": feedback})
        fields = _delete(tasks, task) if given.status == "deleted" else _update(tasks, task, given)
        desk.state.save_tasks()
        detail: JsonObject = {"success": True, "taskId": task.id, "updatedFields": fields}
        if given.status is not None and given.status != before:
            detail["statusChange"] = {"from": before, "to": given.status}
        return Outcome(f"Updated task #{task.id} {', '.join(fields)}".rstrip(), detail)


def _hook_fields(task: SharedTask) -> JsonObject:
    """The fields of a task in the input of hooks."""
    return {"task_id": task.id, "task_subject": task.subject, "task_description": task.description}


def _delete(tasks: SharedTasks, task: SharedTask) -> list[str]:
    del tasks.by_id[task.id]
    for other in tasks.by_id.values():
        for ids in (other.blocks, other.blocked_by):
            if task.id in ids:
                ids.remove(task.id)
    return ["deleted"]


def _update(tasks: SharedTasks, task: SharedTask, given: TaskUpdateInput) -> list[str]:
    """Apply the given fields. Returns the names of those that changed."""
    fields: list[str] = []
    for name, wire in _PLAIN:
        value = getattr(given, name)
        if value is not None and value != getattr(task, name):
            setattr(task, name, value)
            fields.append(wire)
    if given.status is not None and given.status != task.status:
        task.status = given.status
        fields.append("status")
    if _link(tasks, task, given.add_blocks, mine="blocks", theirs="blocked_by"):
        fields.append("blocks")
    if _link(tasks, task, given.add_blocked_by, mine="blocked_by", theirs="blocks"):
        fields.append("blockedBy")
    if given.metadata is not None:
        changed = task.metadata | given.metadata
        task.metadata = {key: value for key, value in changed.items() if value is not None}
        fields.append("metadata")
    return fields


def _link(tasks: SharedTasks, task: SharedTask, ids: list[str], *, mine: str, theirs: str) -> bool:
    """Add dependencies to both tasks. Returns whether anything changed."""
    new = [id for id in dict.fromkeys(ids) if id in tasks.by_id and id != task.id and id not in getattr(task, mine)]
    for id in new:
        getattr(task, mine).append(id)
        getattr(tasks.by_id[id], theirs).append(task.id)
    return bool(new)
