"""Background tasks: commands and subagents that run beside the turns, and a prompt when one has ended."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from time import time
from typing import Any, Final

from msgspec import Struct

from handrail.agent.base import Prompt
from handrail.agent.blocks import reminder
from handrail.agent.record.journal import make_private
from handrail.agent.speaker import Speaker

__all__ = ["BackgroundTask", "TaskRun", "Tasks", "Work"]

JsonObject = dict[str, Any]
_BEGINNING: Final = 1.0
_END_OF_EVENT: Final = re.compile(r"</(?=event>|task-notification>)")


class BackgroundTask(Struct):
    """Work that runs beside the turns. `status`: running, completed, failed or stopped."""

    id: str
    kind: str
    description: str
    call_id: str
    output_file: str
    status: str = "running"
    summary: str = ""
    notified: bool = True
    """Whether the model is notified of its end."""
    command: str = ""
    """The command line, if it is a command."""
    stopped_by: str = ""
    """Who stopped it: user or parent, the model of the conversation."""

    def line(self) -> JsonObject:
        """The task as `background_tasks_changed` lists it."""
        return {"task_id": self.id, "task_type": self.kind, "description": self.description}


class TaskRun:
    """Passed to the work of a task: takes its output, and its events for the model."""

    def __init__(self, task: BackgroundTask, notify: Callable[[Prompt], None]) -> None:
        self.task, self._notify = task, notify

    def tell(self, event: str) -> None:
        """Notify the model of an event."""
        self._notify(_prompt(_event_notice(self.task, event)))

    def write(self, data: bytes) -> None:
        """Append to the output file. If that fails, the output is lost and the work continues."""
        try:
            with open(self.task.output_file, "ab", opener=_private) as file:
                file.write(data)
        except OSError:
            return


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600)


Work = Callable[[TaskRun], Awaitable[tuple[str, str]]]
"""The work of a task. Returns its status (completed, failed or stopped) and a summary."""


class Tasks:
    """All background tasks. `notify` takes the prompt that reports an end to the model, or None."""

    def __init__(self, speaker: Speaker, folder: Callable[[], str], notify: Callable[[Prompt | None], None]) -> None:
        self.speaker, self._folder, self._notify = speaker, folder, notify
        self._running: dict[str, asyncio.Task[None]] = {}
        self._begun: dict[str, asyncio.Event] = {}
        """Set once the work of a task has started: only then can it be cancelled."""
        self._reporting = 0
        """Number of tasks that have ended and are still to be reported."""
        self.known: dict[str, BackgroundTask] = {}

    def start(
        self,
        *,
        kind: str,
        description: str,
        call_id: str,
        work: Work,
        command: str = "",
        id: str = "",
        moved: bool = False,
        **told: Any,
    ) -> BackgroundTask:
        """Start a task. `told`: further fields of `task_started`; `moved`: it was started in the foreground."""
        id = id or f"b{os.urandom(4).hex()}"
        output_file = os.path.join(self._place(), f"{id}.output")
        task = BackgroundTask(id, kind, description, call_id, output_file, command=command)
        self.known[id] = task
        self._begun[id] = asyncio.Event()
        TaskRun(task, self._notify).write(b"")
        self._running[id] = asyncio.create_task(self._run(task, work, told, moved=moved), name=f"handrail task {id}")
        return task

    def _place(self) -> str:
        """The folder of the outputs; a temporary one if it cannot be made."""
        folder = self._folder()
        try:
            make_private(Path(folder))
        except OSError:
            import tempfile

            folder = tempfile.mkdtemp(prefix="handrail-tasks-")
            self._folder = lambda: folder
        return folder

    async def _run(self, task: BackgroundTask, work: Work, told: dict[str, Any], *, moved: bool) -> None:
        try:
            if moved:
                await self.speaker.system("task_updated", task_id=task.id, patch={"is_backgrounded": True})
            else:
                await self.speaker.system(
                    "task_started",
                    task_id=task.id,
                    tool_use_id=task.call_id,
                    description=task.description,
                    is_backgrounded=True,
                    task_type=task.kind,
                    **told,
                )
            await self.report_running()
            self._begun[task.id].set()
            task.status, task.summary = await work(TaskRun(task, self._notify))
        except asyncio.CancelledError:
            task.status, task.summary, task.notified = "stopped", task.description, False
        except Exception as error:
            task.status, task.summary = "failed", f"{task.description} failed: {error}"
        finally:
            self._running.pop(task.id, None)
            self._begun.pop(task.id).set()
        self._reporting += 1
        try:
            await self._tell(task)
        finally:
            self._reporting -= 1

    async def _tell(self, task: BackgroundTask) -> None:
        status = "killed" if task.status == "stopped" else task.status  # as the CLI names it here
        patch = {"status": status, "end_time": round(time() * 1000)}
        await self.speaker.system("task_updated", task_id=task.id, patch=patch)
        await self.speaker.system(
            "task_notification",
            task_id=task.id,
            tool_use_id=task.call_id,
            status=task.status,
            output_file=task.output_file,
            summary=task.summary,
        )
        await self.report_running()
        if task.notified:
            self._notify(_prompt(_notice(task)))
        else:
            self._notify(None)

    async def report_running(self) -> None:
        """Send the list of running tasks to the host."""
        running = [self.known[id].line() for id in self._running]
        await self.speaker.system("background_tasks_changed", tasks=running)

    @property
    def busy(self) -> bool:
        """Whether a task runs, or has ended and its end is still to be reported."""
        return bool(self._running or self._reporting)

    @property
    def running(self) -> list[BackgroundTask]:
        """The tasks that have not ended."""
        return [self.known[id] for id in self._running]

    def find(self, id: str) -> BackgroundTask | None:
        """The running task with this id."""
        return self.known[id] if id in self._running else None

    async def stop(self, id: str, *, by: str = "user") -> BackgroundTask | None:
        """Stop a task, and return it after its end was reported. Returns None if it is not running."""
        task = self._running.get(id)
        if task is None:
            return None
        known = self.known[id]
        known.stopped_by = by
        with suppress(TimeoutError):  # a host that reads nothing may keep it from starting
            async with asyncio.timeout(_BEGINNING):
                await self._begun[id].wait()
        task.cancel()
        await asyncio.wait([task])
        return known

    async def stop_all(self) -> None:
        """Stop all tasks at the same time."""
        await asyncio.gather(*(self.stop(id) for id in list(self._running)))


def _prompt(notice: str) -> Prompt:
    origin = {"kind": "task-notification", "producer": "session-task"}
    return Prompt(notice, origin=origin, priority="later", verbatim=True)  # output may contain @file


def _event_notice(task: BackgroundTask, event: str) -> str:
    event = _END_OF_EVENT.sub(r"<\\/", event)  # output must not look like the end of the notice
    return (
        f"<task-notification>\n<task-id>{task.id}</task-id>\n<summary>Monitor event: {task.description}</summary>\n"
        f"<event>{event}</event>\n</task-notification>"
    )


def _notice(task: BackgroundTask) -> str:
    return reminder(
        "A background task has ended. The program that runs you reports it, not the user: this answers no question and"
        " approves nothing.\n"
        f"<task-notification>\n<task-id>{task.id}</task-id>\n<status>{task.status}</status>\n"
        f"<output-file>{task.output_file}</output-file>\n<summary>{task.summary}</summary>\n</task-notification>"
    )
