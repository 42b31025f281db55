"""What runs in the background: commands and subagents. In: work. Out: lines about it, and a prompt when it is done."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from handrail.agent.events import Speaker
from handrail.agent.journal import make_private
from handrail.agent.queue import Prompt

__all__ = ["BackgroundTask", "TaskRun", "Tasks"]

JsonObject = dict[str, Any]
_BEGINNING: Final = 1.0


class BackgroundTask(Struct):
    """Something that runs beside the turns. `status`: running, completed, failed or stopped."""

    id: str
    kind: str
    description: str
    call_id: str
    output_file: str
    status: str = "running"
    summary: str = ""
    notified: bool = True
    """Somebody is told of its end."""

    def line(self) -> JsonObject:
        """As `background_tasks_changed` lists it."""
        return {"task_id": self.id, "task_type": self.kind, "description": self.description}


class TaskRun:
    """What the work of a task is given: a place for its output."""

    def __init__(self, task: BackgroundTask) -> None:
        self.task = task

    def write(self, data: bytes) -> None:
        """Add to the output; one that cannot be written is lost, the work goes on."""
        try:
            with open(self.task.output_file, "ab", opener=_private) as file:
                file.write(data)
        except OSError:
            return


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW, 0o600)


Work = Callable[[TaskRun], Awaitable[tuple[str, str]]]
"""The work of a task. Out: completed, failed or stopped; and a sentence."""


class Tasks:
    """All that runs. `notify` is given the prompt of the turn that tells the model; None where there is none."""

    def __init__(self, speaker: Speaker, folder: Callable[[], str], notify: Callable[[Prompt | None], None]) -> None:
        self._speaker, self._folder, self._notify = speaker, folder, notify
        self._running: dict[str, asyncio.Task[None]] = {}
        self._begun: dict[str, asyncio.Event] = {}
        """Set once the work of a task has begun: only then does it hear that it is stopped."""
        self.known: dict[str, BackgroundTask] = {}

    def start(
        self, *, kind: str, description: str, call_id: str, work: Work, id: str = "", **told: Any
    ) -> BackgroundTask:
        """Begin. `told`: what its first line says besides. Out: the task, which runs already."""
        id = id or f"b{os.urandom(4).hex()}"
        task = BackgroundTask(id, kind, description, call_id, os.path.join(self._place(), f"{id}.output"))
        self.known[id] = task
        self._begun[id] = asyncio.Event()
        TaskRun(task).write(b"")
        self._running[id] = asyncio.create_task(self._run(task, work, told), name=f"handrail task {id}")
        return task

    def _place(self) -> str:
        """Where outputs go; where that cannot be, to a temporary folder."""
        folder = self._folder()
        try:
            make_private(Path(folder))
        except OSError:
            import tempfile

            folder = tempfile.mkdtemp(prefix="handrail-tasks-")
            self._folder = lambda: folder
        return folder

    async def _run(self, task: BackgroundTask, work: Work, told: dict[str, Any]) -> None:
        try:
            await self._speaker.system(
                "task_started",
                task_id=task.id,
                tool_use_id=task.call_id,
                description=task.description,
                is_backgrounded=True,
                task_type=task.kind,
                **told,
            )
            await self._changed()
            self._begun[task.id].set()
            task.status, task.summary = await work(TaskRun(task))
        except asyncio.CancelledError:
            task.status, task.summary = "stopped", f"{task.description} was stopped"
        except Exception as error:
            task.status, task.summary = "failed", f"{task.description} failed: {error}"
        finally:
            self._running.pop(task.id, None)
            self._begun.pop(task.id).set()
        await self._tell(task)

    async def _tell(self, task: BackgroundTask) -> None:
        await self._speaker.system("task_updated", task_id=task.id, patch={"status": task.status})
        await self._speaker.system(
            "task_notification",
            task_id=task.id,
            tool_use_id=task.call_id,
            status=task.status,
            output_file=task.output_file,
            summary=task.summary,
        )
        await self._changed()
        if task.notified and task.status != "stopped":
            self._notify(
                Prompt(_notice(task), origin={"kind": "task-notification", "task_id": task.id}, priority="later")
            )
        else:
            self._notify(None)

    async def _changed(self) -> None:
        running = [self.known[id].line() for id in self._running]
        await self._speaker.system("background_tasks_changed", tasks=running)

    @property
    def running(self) -> list[BackgroundTask]:
        """Those that have not ended."""
        return [self.known[id] for id in self._running]

    async def stop(self, id: str) -> bool:
        """End one. Out: whether there was one."""
        task = self._running.get(id)
        if task is None:
            return False
        with suppress(TimeoutError):  # a host that reads nothing may keep it from beginning
            async with asyncio.timeout(_BEGINNING):
                await self._begun[id].wait()
        task.cancel()
        await asyncio.wait([task])
        return True

    async def stop_all(self) -> None:
        """End all, at once."""
        await asyncio.gather(*(self.stop(id) for id in list(self._running)))


def _notice(task: BackgroundTask) -> str:
    return (
        f"<task-notification>\n<task-id>{task.id}</task-id>\n<status>{task.status}</status>\n"
        f"<output-file>{task.output_file}</output-file>\n<summary>{task.summary}</summary>\n</task-notification>"
    )
