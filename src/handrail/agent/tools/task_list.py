"""TaskCreate, TaskGet, TaskList, TaskUpdate: a list of tasks. In: one task, or a change. Out: how it stands now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from msgspec import Meta, Struct, field

from handrail.agent.tools.base import JsonObject, Outcome, Tool

if TYPE_CHECKING:
    from handrail.agent.desk import Desk

__all__ = ["TaskCreate", "TaskGet", "TaskList", "TaskUpdate"]

TaskId = Annotated[str, Meta(description="The number of the task.")]
_NOT_FOUND = "Task not found"


class _Task(Struct):
    id: str
    subject: str
    description: str
    active_form: str = ""
    status: str = "pending"
    owner: str = ""
    blocks: list[str] = field(default_factory=list[str])
    blocked_by: list[str] = field(default_factory=list[str])
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


class _Tasks(Struct):
    """The list of a conversation. Numbers are not used again."""

    made: int = 0
    by_id: dict[str, _Task] = field(default_factory=dict[str, _Task])


def _tasks(desk: Desk) -> _Tasks:
    return cast("_Tasks", desk.notes.setdefault("task_list", _Tasks()))


class TaskCreateInput(Struct, frozen=True, rename="camel"):
    """A task to be done."""

    subject: Annotated[str, Meta(description="What to do, in a few words: `Run the tests`.")]
    description: Annotated[str, Meta(description="What exactly is to be done.")]
    active_form: Annotated[str | None, Meta(description="The same while it is done: `Running the tests`.")] = None
    metadata: dict[str, Any] | None = None


class TaskCreate(Tool[TaskCreateInput]):
    """Puts a task on the list."""

    name = "TaskCreate"
    description = "Puts a task on the list that you and the user share. It begins as pending."
    Input = TaskCreateInput

    async def run(self, given: TaskCreateInput, desk: Desk) -> Outcome:
        tasks = _tasks(desk)
        tasks.made += 1
        task = _Task(str(tasks.made), given.subject, given.description, given.active_form or "")
        task.metadata |= given.metadata or {}
        tasks.by_id[task.id] = task
        shown = {"id": task.id, "subject": task.subject, "description": task.description}
        return Outcome(f"Task #{task.id} created successfully: {task.subject}", {"task": shown})


class TaskGetInput(Struct, frozen=True, rename="camel"):
    """Which task."""

    task_id: TaskId


class TaskGet(Tool[TaskGetInput]):
    """Shows one task."""

    name = "TaskGet"
    description = "Shows one task of the list with its description and what it waits for."
    Input = TaskGetInput
    concurrent = True

    async def run(self, given: TaskGetInput, desk: Desk) -> Outcome:
        task = _tasks(desk).by_id.get(given.task_id)
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
    """Nothing needs to be said."""


class TaskList(Tool[TaskListInput]):
    """Shows all tasks."""

    name = "TaskList"
    description = "Shows all tasks of the list: number, status, subject, who has it, and what it waits for."
    Input = TaskListInput
    concurrent = True

    async def run(self, given: TaskListInput, desk: Desk) -> Outcome:
        tasks = _tasks(desk).by_id.values()
        return Outcome("\n".join(map(_line, tasks)) or "No tasks found", {"tasks": [_row(task) for task in tasks]})


def _line(task: _Task) -> str:
    owner = f" ({task.owner})" if task.owner else ""
    waits = f" [blocked by {_numbers(task.blocked_by)}]" if task.blocked_by else ""
    return f"#{task.id} [{task.status}] {task.subject}{owner}{waits}"


def _row(task: _Task) -> JsonObject:
    row: JsonObject = {"id": task.id, "subject": task.subject, "status": task.status}
    if task.owner:
        row["owner"] = task.owner
    return row | {"blockedBy": list(task.blocked_by)}


def _numbers(ids: list[str]) -> str:
    return ", ".join(f"#{id}" for id in ids)


class TaskUpdateInput(Struct, frozen=True, rename="camel"):
    """Which task, and what of it changes."""

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
    description = (
        "Changes a task of the list: its status (in_progress when you begin, completed when it is done, deleted to "
        "take it off), texts, owner, or what it waits for."
    )
    Input = TaskUpdateInput

    async def run(self, given: TaskUpdateInput, desk: Desk) -> Outcome:
        tasks = _tasks(desk)
        task = tasks.by_id.get(given.task_id)
        if task is None:
            detail = {"success": False, "taskId": given.task_id, "updatedFields": [], "error": _NOT_FOUND}
            return Outcome(_NOT_FOUND, detail)
        before = task.status
        fields = _delete(tasks, task) if given.status == "deleted" else _update(tasks, task, given)
        detail: JsonObject = {"success": True, "taskId": task.id, "updatedFields": fields}
        if given.status is not None and given.status != before:
            detail["statusChange"] = {"from": before, "to": given.status}
        return Outcome(f"Updated task #{task.id} {', '.join(fields)}".rstrip(), detail)


def _delete(tasks: _Tasks, task: _Task) -> list[str]:
    del tasks.by_id[task.id]
    for other in tasks.by_id.values():
        for ids in (other.blocks, other.blocked_by):
            if task.id in ids:
                ids.remove(task.id)
    return ["deleted"]


def _update(tasks: _Tasks, task: _Task, given: TaskUpdateInput) -> list[str]:
    """Change what is given. Out: the names of what differs now."""
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


def _link(tasks: _Tasks, task: _Task, ids: list[str], *, mine: str, theirs: str) -> bool:
    """Who waits for whom, noted on both sides. Out: did anything change?"""
    new = [id for id in dict.fromkeys(ids) if id in tasks.by_id and id != task.id and id not in getattr(task, mine)]
    for id in new:
        getattr(task, mine).append(id)
        getattr(tasks.by_id[id], theirs).append(task.id)
    return bool(new)
