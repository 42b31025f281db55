"""Monitor: a command in the background whose lines of output are events for the model."""

from __future__ import annotations

import asyncio
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from handrail.agent.tools.base import JsonObject, Outcome, Tool, ToolFailed
from handrail.agent.tools.bash import bounded, check_text, start_command
from handrail.schema.tool_results import MonitorResult
from handrail.schema.view import as_builtins

if TYPE_CHECKING:
    from collections.abc import Callable

    from handrail.agent.tools.desk import Desk, TaskRun
    from handrail.agent.tools.shell import Shell, Sink

__all__ = ["Monitor"]

_DEFAULT_TIMEOUT_MS: Final = 300_000
_MAX_TIMEOUT_MS: Final = 1_800_000
_MAX_TIMEOUT_INPUT: Final = 3_600_000
BATCH_SECONDS: Final = 0.2
"""Lines within this time are one event."""
_MAX_EVENT: Final = 3_000
_MAX_LINE: Final = 64 * 1024
MOST_EVENTS: Final = 60
"""Events within a minute, after which the monitor is stopped."""
_MINUTE: Final = 60.0


class MonitorInput(Struct, frozen=True):
    """A command to watch."""

    description: Annotated[str, Meta(description="What is watched, in a few words; part of every notification.")]
    command: Annotated[str, Meta(description="The command. Each line of its stdout is an event; its exit is the end.")]
    timeout_ms: Annotated[
        float,
        Meta(
            description="Milliseconds until it is stopped: 300000 by default, at most 1800000.",
            ge=1000,
            le=_MAX_TIMEOUT_INPUT,
        ),
    ] = _DEFAULT_TIMEOUT_MS


class Monitor(Tool[MonitorInput]):
    """Watches a command."""

    name = "Monitor"
    description = """\
Runs a command in the background and notifies you of every line that it prints, while you keep working.

- Use it for things that happen several times: errors in a log (`tail -f app.log | grep --line-buffered -E \
"ERROR|Traceback"`), steps of a build, results of a poll loop. For a single notification use Bash with \
run_in_background and a command that exits when the condition holds.
- Only stdout counts, so add `2>&1` where errors matter; stderr goes to the output file. Every program of a pipe must \
write line by line (`grep --line-buffered`). Lines within 0.2 s are one event of at most 3,000 characters.
- Match failures too, not only success: a watch that is silent after a crash looks like one that still waits.
- Print only what you would act on. More than 60 events in a minute stop the monitor.
- It needs the same permission as the command in Bash, and ends with the command, after timeout_ms, or by TaskStop. \
Start it again if you still need it. An event is never an answer of the user."""
    Input = MonitorInput
    strict = False

    def shown(self, given: MonitorInput, input: JsonObject) -> JsonObject:
        """The input with the time limit, which a person who is asked wants to know."""
        return {"timeout_ms": given.timeout_ms, **super().shown(given, input)}

    def read(self, input: Any) -> MonitorInput:
        if isinstance(input, dict) and "ws" in input:
            raise msgspec.ValidationError("`ws` is not supported; watch with `command`")
        return super().read(input)

    def describe(self, given: MonitorInput) -> str:
        return given.description

    async def check(self, given: MonitorInput, desk: Desk) -> None:
        if not given.command.strip():
            raise ToolFailed("Missing required parameter: command")
        check_text(given.command)

    async def run(self, given: MonitorInput, desk: Desk) -> Outcome:
        if desk.tasks is None:
            raise ToolFailed("Nothing can run in the background here.")
        timeout = min(given.timeout_ms, _MAX_TIMEOUT_MS)
        watch = _Watch(given.description, timeout / 1000)
        shell, _ = await start_command(
            given.command, desk, watch.lines.write, in_background=True, errors=watch.errors.write
        )
        task = desk.tasks.start(
            kind="local_bash",
            description=given.description,
            call_id=desk.call_id,
            work=lambda run: watch.follow(shell, run),
            command=given.command,
        )
        detail = as_builtins(MonitorResult(task_id=task.id, timeout_ms=timeout, persistent=False))
        text = (
            f"Monitor started (task {task.id}). You are notified of every event, of its end, and when it expires after "
            f"{_duration(timeout / 1000)}. Keep working; do not poll or sleep. Output: {task.output_file}"
        )
        return Outcome(text, detail)


class _Early:
    """Keeps data until there is a sink for it."""

    def __init__(self) -> None:
        self._sink: Sink | None = None
        self._data: list[bytes] = []

    def write(self, data: bytes) -> None:
        if self._sink is None:
            self._data.append(data)
        else:
            self._sink(data)

    def use(self, sink: Sink) -> None:
        self._sink = sink
        for data in self._data:
            sink(data)
        self._data = []


class _Watch:
    """One monitor: passes output on and turns lines into events."""

    def __init__(self, name: str, seconds: float) -> None:
        self.lines, self.errors = _Early(), _Early()
        self._name, self._seconds = name, seconds

    async def follow(self, shell: Shell, run: TaskRun) -> tuple[str, str]:
        """The work of the task. Cancelling it terminates the command."""
        write, events = bounded(run.write), _Events(run.tell)

        def take(data: bytes) -> None:
            write(data)
            events.add(data)

        self.lines.use(take)
        self.errors.use(write)
        ended, flooded = asyncio.ensure_future(shell.wait()), asyncio.ensure_future(events.flooded.wait())
        try:
            await asyncio.wait({ended, flooded}, timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                await shell.terminate()
                events.close(self._why(flooded=flooded.done(), count=events.count))
                return "stopped", self._name
        except BaseException:
            await shell.terminate()
            events.drop()
            raise
        finally:
            flooded.cancel()
        shell.last_folder()  # closes the pipe
        events.close()
        return self._end(ended.result(), events.count)

    def _why(self, *, flooded: bool, count: int) -> str:
        """The last event of a monitor that was stopped."""
        if flooded:
            return (
                f"[The monitor was stopped: more than {MOST_EVENTS} events in a minute. Filter more and start again.]"
            )
        counted = "1 event" if count == 1 else f"{count} events"
        return f"[The monitor expired after {_duration(self._seconds)}, with {counted}. Start it again if you need it.]"

    def _end(self, code: int, count: int) -> tuple[str, str]:
        if code:
            return "failed", f'Monitor "{self._name}" failed with exit code {code}'
        return "completed", f'Monitor "{self._name}" ended{"" if count else " without output"} (exit code 0)'


class _Events:
    """Collects lines and passes them on as events."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        self._tell, self._rest, self._lines = tell, bytearray(), list[bytes]()
        self._timer: asyncio.TimerHandle | None = None
        self._times: deque[float] = deque()
        self.count = 0
        self.flooded = asyncio.Event()

    def add(self, data: bytes) -> None:
        self._rest += data
        *lines, rest = self._rest.split(b"\n")
        if len(rest) > _MAX_LINE:
            lines, rest = [*lines, rest], bytearray()
        self._rest = rest
        self._lines += (bytes(line) for line in lines[:_MAX_EVENT])
        if self._lines and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(BATCH_SECONDS, self._flush)

    def close(self, last: str = "") -> None:
        """Pass on what is left, and a last event."""
        if self._rest:
            self._lines.append(bytes(self._rest))
            self._rest = bytearray()
        self._flush()
        if last:
            self._tell(last)

    def drop(self) -> None:
        """Pass nothing more on."""
        if self._timer is not None:
            self._timer.cancel()

    def _flush(self) -> None:
        self.drop()
        self._timer = None
        text = b"\n".join(self._lines).decode("utf-8", "replace").strip("\n")
        self._lines = []
        if not text.strip() or self.flooded.is_set():
            return
        self.count += 1
        self._tell(text if len(text) <= _MAX_EVENT else f"{text[:_MAX_EVENT]}\n… [truncated]")
        now = monotonic()
        self._times.append(now)
        while self._times[0] < now - _MINUTE:
            self._times.popleft()
        if len(self._times) > MOST_EVENTS:
            self.flooded.set()


def _duration(seconds: float) -> str:
    return f"{seconds / 60:g} min" if seconds >= 60 else f"{seconds:g} s"
