"""A command that goes on in the background. In: the running shell and what it has printed. Out: the task it became."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, cast

from handrail.agent.tools.base import ToolFailed

if TYPE_CHECKING:
    from handrail.agent.desk import Desk
    from handrail.agent.tools.large_output import Output
    from handrail.agent.tools.shell import Shell

__all__ = ["BackgroundTask", "BackgroundTasks", "TaskRun", "can_go_on", "go_on"]


class TaskRun(Protocol):
    """What work in the background is given."""

    def write(self, data: bytes, /) -> object:
        """Append to the output file."""
        ...


class BackgroundTask(Protocol):
    """Work that was put in the background."""

    @property
    def id(self) -> str: ...
    @property
    def output_file(self) -> str: ...


class BackgroundTasks(Protocol):
    """Where work in the background is kept."""

    def start(
        self, *, kind: str, description: str, call_id: str, work: Callable[[Any], Awaitable[tuple[str, str]]]
    ) -> BackgroundTask:
        """Begin it. `work` ends with a status and a summary, and is cancelled to stop it."""
        ...


def can_go_on(desk: Desk) -> bool:
    """Is there anything that keeps work in the background?"""
    return desk.tasks is not None


def go_on(shell: Shell, output: Output, desk: Desk, *, command: str, description: str) -> BackgroundTask:
    """Leave a running command to the background. What it has printed so far goes in front of what follows."""
    tasks = cast("BackgroundTasks | None", desk.tasks)
    if tasks is None:
        raise ToolFailed("Nothing can run in the background here.")

    async def work(run: TaskRun) -> tuple[str, str]:
        try:
            for part in output.parts():
                run.write(part)
            shell.sink = run.write
            code = await shell.wait()
        except BaseException:
            await shell.end()
            raise
        shell.last_folder()
        if code:
            return "failed", f'Background command "{description or command}" failed with exit code {code}'
        return "completed", f'Background command "{description or command}" completed (exit code 0)'

    return tasks.start(kind="local_bash", description=description or command, call_id=desk.call_id, work=work)
