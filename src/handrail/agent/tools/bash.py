"""The Bash tool: runs a command and returns its output."""

from __future__ import annotations

import asyncio
import os
import re
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from handrail.agent.tools import process_tree
from handrail.agent.tools.base import Outcome, StoppedByCage, Tool, ToolFailed, refused
from handrail.agent.tools.command_cage import CommandCage, reading_cage, writing_cage
from handrail.agent.tools.foreground import MovedToBackground
from handrail.agent.tools.large_output import Output, persisted
from handrail.agent.tools.sandbox import NOT_INSTALLED, Sandbox, is_sandboxed, make_sandbox, network_allowed
from handrail.agent.tools.shell import Shell, Sink
from handrail.cage.base import CageError
from handrail.cage.stops import what_was_stopped
from handrail.files.resolve import real_path
from handrail.permissions.paths.names import is_below

if TYPE_CHECKING:
    from collections.abc import Callable

    from handrail.agent.tools.desk import BackgroundTask, BackgroundTasks, Desk, TaskRun

__all__ = [
    "Bash",
    "BashInput",
    "bounded",
    "check_text",
    "expects_no_output",
    "long_sleep",
    "meaning_of",
    "start_command",
]

_DEFAULT_TIMEOUT_MS: Final = 120_000
_MAX_TIMEOUT_MS: Final = 600_000
_MAX_OUTPUT: Final = 30_000
_MAX_OUTPUT_SETTING: Final = 150_000
_BLANK_LINES: Final = re.compile(r"\A(?:[ \t\r]*\n)+")
_REPORT_INTERVAL: Final = 0.5
"""Seconds between two reports of a running command's output."""
_MOST_WATCHED: Final = 500
_MOST_NAMED: Final = 10
"""Changed files that are listed by name."""
_MAX_BACKGROUND_OUTPUT: Final = 256 * 1024 * 1024
_CHILD_ENVIRONMENT: Final = {"CLAUDECODE": "1", "GIT_EDITOR": "true"}
"""Lets programs detect the agent, and keeps git from waiting for an editor."""

_LONG_SLEEP: Final = 25
"""Seconds from which a leading `sleep` is refused."""
_SLEEP: Final = re.compile(
    r"\s*sleep\s+(?P<number>\d+(?:\.\d*)?|\.\d+)(?P<unit>[smhd]?)\s*(?:$|(?:&&|\|\||;|\n)(?P<rest>.*))", re.DOTALL
)
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SEPARATOR: Final = re.compile(r"&&|\|\||[;|\n]")
_SILENT: Final = frozenset("cd chgrp chmod chown cp export ln mkdir mv rm rmdir touch unset wait".split())
_EXIT_CODE_1: Final = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg"), "No matches found"),
    "diff": "Files differ",
    "find": "Some directories were inaccessible",
    **dict.fromkeys(("test", "["), "Condition is false"),
}
"""Programs for which exit code 1 is a result, not a failure."""


class BashInput(Struct, frozen=True):
    """A command, and how to run it."""

    command: Annotated[str, Meta(description="The command to run.")]
    timeout: Annotated[float | None, Meta(description="Timeout in milliseconds, at most 600000.")] = None
    description: Annotated[str | None, Meta(description="What the command does, in five to ten words.")] = None
    run_in_background: Annotated[bool, Meta(description="Return at once; the output is written to a file.")] = False
    unsandboxed: Annotated[bool, Meta(description="Run outside the sandbox, if the settings allow it.")] = field(
        default=False, name="dangerouslyDisableSandbox"
    )


class Bash(Tool[BashInput]):
    """Runs a command."""

    name = "Bash"
    description = """\
Runs a bash command and returns its output and exit code.

- The working folder persists between calls; variables, functions and aliases do not. stdin is empty, so use the flags \
of a program that keep it from asking.
- Use it for git, builds, tests, package managers and searches (rg, grep, find, ls). To read, create or change \
files use Read, Write and Edit, which \
check what they do.
- Quote paths with spaces. Prefer absolute paths to `cd`. Join dependent commands with `&&`; make independent ones \
separate calls in one message.
- A command may take 2 minutes, or up to 10 with `timeout`. Put servers, watchers and long jobs into the background \
with run_in_background: you are notified when they end, and can read their output file before. Do not wait with `sleep`.
- Output beyond about 30,000 characters is written to a file that is named in the result; read or search that file.
- Commits, only if asked for: look at status, diff and the style of recent messages first; add the files you mean by \
name; never skip hooks, amend or force unless told to."""
    Input = BashInput

    def describe(self, given: BashInput) -> str:
        return given.description or given.command

    async def run(self, given: BashInput, desk: Desk) -> Outcome:
        if not given.run_in_background and desk.tasks is not None and (problem := long_sleep(given.command)):
            return refused(problem)
        check_text(given.command)
        if given.run_in_background and desk.tasks is None:
            raise ToolFailed("Nothing can run in the background here. Run it without run_in_background.")
        return await _run(given, desk)


def check_text(command: str) -> None:
    """Raise ToolFailed for a command that no process can be started with."""
    if "\x00" in command:
        raise ToolFailed("The command contains a NUL byte, which no command can contain.")
    try:
        command.encode()
    except UnicodeEncodeError:
        raise ToolFailed("The command contains an unpaired surrogate, so it is not valid Unicode.") from None


async def _run(given: BashInput, desk: Desk) -> Outcome:
    before = {} if desk.caged else _states(desk)
    output = Output(_setting(desk, "BASH_MAX_OUTPUT_LENGTH", _MAX_OUTPUT, _MAX_OUTPUT_SETTING), desk.results_folder)
    shell, cage = await start_command(
        given.command, desk, output.write, in_background=given.run_in_background, unsandboxed=given.unsandboxed
    )
    if given.run_in_background and desk.tasks is not None:
        task = _move_to_background(shell, output, given, desk, desk.tasks)
        return Outcome(
            f"Command running in background with ID: {task.id}. {_how_to_follow(task)}",
            {**_detail("", given), "noOutputExpected": False, "backgroundTaskId": task.id},
        )
    outcome = await _wait(shell, output, given, desk, cage if desk.caged else None)
    if note := _changed_note(before, desk):
        return replace(outcome, content=f"{outcome.content}\n{note}")
    return outcome


def _states(desk: Desk) -> dict[str, tuple[int, int]]:
    """Time and size of the files that the model has read; of very many only the latest."""
    return {path: state for path in list(desk.seen)[-_MOST_WATCHED:] if (state := _state(path))}


def _state(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _changed_note(before: dict[str, tuple[int, int]], desk: Desk) -> str:
    """Which of these files changed: the model knows their old content, and would edit from that."""
    changed = [path for path, state in before.items() if (now := _state(path)) and now != state]
    if not changed:
        return ""
    folder = os.path.join(real_path(desk.cwd), "")
    names = [path.removeprefix(folder) for path in changed[:_MOST_NAMED]]
    more = f" and {len(changed) - len(names):,} more" if len(changed) > len(names) else ""
    return f"[Files that you had read changed while this ran: {', '.join(names)}{more}. Read them before editing them.]"


async def start_command(
    command: str,
    desk: Desk,
    sink: Sink,
    *,
    in_background: bool,
    errors: Sink | None = None,
    unsandboxed: bool = False,
) -> tuple[Shell, CommandCage | None]:
    """Start a command in the cage or sandbox that the call needs. Raises ToolFailed or StoppedByCage if it cannot.

    `sink` receives its output; with `errors`, that receives what it writes to stderr.
    """
    try:
        return await _start(command, desk, sink, errors, in_background=in_background, unsandboxed=unsandboxed)
    except CageError as error:
        if desk.caged:
            raise StoppedByCage(f"The command cannot run in the cage: {error}") from error
        raise ToolFailed(f"The sandbox could not be made, so the command was not run: {error}") from error


async def _start(
    command: str, desk: Desk, sink: Sink, errors: Sink | None, *, in_background: bool, unsandboxed: bool
) -> tuple[Shell, CommandCage | None]:
    """Start a command. Raises CageError if the cage cannot be built."""
    _leave_deleted_folder(desk)
    environment = {**_CHILD_ENVIRONMENT, **desk.environment}
    cage, sandbox = reading_cage(command, desk, environment) if desk.caged else None, Sandbox()
    if cage is None and is_sandboxed(desk, opt_out=unsandboxed):
        sandbox = make_sandbox(desk)
        if not sandbox.argv and (cage := writing_cage(desk, environment, network=network_allowed(desk))) is None:
            raise ToolFailed(NOT_INSTALLED)
    clean_up = cage.clean_up if cage else sandbox.clean_up
    try:
        shell = await Shell.start(
            command,
            cwd=desk.cwd,
            environment=cage.environment if cage else environment,
            sink=sink,
            errors=errors,
            wrapper=sandbox.argv,
            adopts=in_background,
            cage=cage,
            on_exit=clean_up,
        )
    except BaseException as error:
        clean_up()
        if not isinstance(error, OSError):
            raise
        raise ToolFailed(f"The command could not be started in {desk.cwd}: {error.strerror}") from error
    return shell, cage


def _leave_deleted_folder(desk: Desk) -> None:
    if not os.path.isdir(desk.cwd):
        desk.cwd = desk.project


async def _wait(shell: Shell, output: Output, given: BashInput, desk: Desk, cage: CommandCage | None = None) -> Outcome:
    """Wait until the command exits or times out. Cancelling this terminates the command and everything it started.

    Raises StoppedByCage if `cage`, the cage for commands that only read, stopped it.
    """
    timeout = _timeout_ms(given, desk)
    progress = asyncio.create_task(_report(output, desk))
    try:
        async with asyncio.timeout(timeout / 1000):
            code = await desk.foreground.wait(asyncio.create_task(shell.wait()), desk.call_id)
    except TimeoutError:
        return await _timed_out(shell, output, given, desk, timeout)
    except MovedToBackground:
        return _moved(shell, output, given, desk)
    except BaseException:
        await shell.terminate()
        output.close()
        raise
    finally:
        progress.cancel()
    tried = what_was_stopped(code, output.text, cage.limits, desk.cwd) if cage else ""
    note = _follow_cd(desk, shell.last_folder())
    if shell.was_fork_bomb:
        most = process_tree.MOST_PROCESSES
        note = f"The command was ended: it ran more than {most:,} processes at the same time. {note}".rstrip()
    outcome = _outcome(output, given, code, note)
    if tried:
        raise StoppedByCage(f"The cage stopped the command, which may only read: {tried}", str(outcome.content))
    return outcome


async def _report(output: Output, desk: Desk) -> None:
    """Send the host the newest output of a running command, whenever there is more of it."""
    start, sent = monotonic(), 0
    while True:
        await asyncio.sleep(_REPORT_INTERVAL)
        if output.size != sent:
            sent = output.size
            await desk.report_output(desk.call_id, output.tail, monotonic() - start)


async def _timed_out(shell: Shell, output: Output, given: BashInput, desk: Desk, timeout: int) -> Outcome:
    text = _stripped(output.text)
    if desk.tasks is None:
        await shell.terminate()
        output.close()
        return _failed(f"Command timed out after {timeout / 1000:g}s and was ended", text)
    task = _move_to_background(shell, output, given, desk, desk.tasks)
    message = (
        f"Command did not complete within its {timeout / 1000:g}s timeout and was moved to the background "
        f"(ID: {task.id}). {_how_to_follow(task)} It is running now: do not start a second copy while it runs."
    )
    detail = {**_detail(text, given), "backgroundTaskId": task.id, "timedOutAfterMs": timeout}
    return Outcome(f"{text}\n{message}" if text else message, detail)


def _move_to_background(
    shell: Shell, output: Output, given: BashInput, desk: Desk, tasks: BackgroundTasks
) -> BackgroundTask:
    """Turn a running command into a background task. The task's output file starts with the output so far."""
    name = given.description or given.command

    async def work(run: TaskRun) -> tuple[str, str]:
        write = bounded(run.write)
        try:
            for part in output.parts():
                write(part)
            shell.output.sink = write
            code = await shell.wait()
        except BaseException:
            await shell.terminate()
            raise
        shell.last_folder()  # closes the pipe
        # The model may read the file without waiting for the notification.
        run.write(f"\n[exited with code {code}]\n".encode())
        if code:
            return "failed", f'Background command "{name}" failed with exit code {code}'
        return "completed", f'Background command "{name}" completed (exit code 0)'

    return tasks.start(kind="local_bash", description=name, call_id=desk.call_id, work=work, command=given.command)


def bounded(write: Sink, limit: int = _MAX_BACKGROUND_OUTPUT) -> Callable[[bytes], None]:
    """A sink that drops output beyond a limit, so that an endless command does not fill the disk."""
    left = limit

    def pass_on(data: bytes) -> None:
        nonlocal left
        if left <= 0:
            return
        write(data[:left])
        left -= len(data)
        if left <= 0:
            write(f"\n… [output beyond {limit:,} bytes is dropped]\n".encode())

    return pass_on


def _moved(shell: Shell, output: Output, given: BashInput, desk: Desk) -> Outcome:
    """The result of a call that the host moved to the background."""
    if desk.tasks is None:
        raise ToolFailed("Nothing can run in the background here.")
    text = _stripped(output.text)
    task = _move_to_background(shell, output, given, desk, desk.tasks)
    message = f"Command was manually backgrounded by user with ID: {task.id}. {_how_to_follow(task)}"
    detail = {**_detail(text, given), "backgroundTaskId": task.id, "backgroundedByUser": True}
    return Outcome(f"{text}\n{message}" if text else message, detail)


def _how_to_follow(task: BackgroundTask) -> str:
    return (
        f"Output is being written to: {task.output_file}. You will be notified when it completes. "
        "To check interim output, use Read on that file path."
    )


def _outcome(output: Output, given: BashInput, code: int, note: str) -> Outcome:
    text = _stripped(output.text)
    if output.is_truncated:
        output.save()
    output.close()
    meaning = meaning_of(given.command, code) if code else ""
    if code and not meaning:
        return _failed(f"Exit code {code}", "\n".join(part for part in (text, _where_rest_is(output), note) if part))
    detail = _detail(text, given)
    if note:
        detail["stderr"] = f"\n{note}"
    if meaning:
        detail["returnCodeInterpretation"] = meaning
    if output.is_truncated and output.path:
        detail |= {"persistedOutputPath": output.path, "persistedOutputSize": output.size}
        text = persisted(text, output.size, output.path)
    elif output.is_truncated:
        text = f"{text}\n{_where_rest_is(output)}"
    shown = "\n".join(part for part in (text, note) if part)
    return Outcome(shown or "(Bash completed with no output)", detail)


def _failed(why: str, text: str) -> Outcome:
    content = f"{why}\n{text}" if text else why
    return Outcome(content, f"Error: {content}", is_error=True)


def _where_rest_is(output: Output) -> str:
    """Path of the full output, if it was truncated."""
    if not output.is_truncated:
        return ""
    if output.path:
        return f"… [truncated; the full output of {output.size:,} bytes is in {output.path}]"
    return "… [truncated; the rest is lost]"


def _detail(text: str, given: BashInput) -> dict[str, Any]:
    return {
        "stdout": text,
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": expects_no_output(given.command),
    }


def _stripped(text: str) -> str:
    """Strip leading blank lines and trailing white space, but not the indentation of the first line."""
    return _BLANK_LINES.sub("", text).rstrip()


def _follow_cd(desk: Desk, folder: str) -> str:
    """Continue in the folder where the command ended. Returns a note if that is outside the allowed folders."""
    if not folder or folder == real_path(desk.cwd):
        return ""
    places = [place for given in (desk.project, *desk.additional) for place in (given, real_path(given))]
    if any(is_below(folder, place) for place in places) and os.path.isdir(folder):
        desk.cwd = desk.project if folder == real_path(desk.project) else folder
        return ""
    desk.cwd = desk.project
    return f"Shell cwd was reset to {desk.project}"


def _timeout_ms(given: BashInput, desk: Desk) -> int:
    most = _setting(desk, "BASH_MAX_TIMEOUT_MS", _MAX_TIMEOUT_MS, 86_400_000)
    default = _setting(desk, "BASH_DEFAULT_TIMEOUT_MS", _DEFAULT_TIMEOUT_MS, most)
    return int(min(given.timeout, most)) if given.timeout and given.timeout > 0 else default


def _setting(desk: Desk, name: str, default: int, most: int) -> int:
    """A positive number from the environment, capped at `most`; `default` if unset or invalid."""
    found = desk.environment.get(name, "")
    return min(int(found), most) if found.isdecimal() and len(found) < 10 and int(found) > 0 else default


def long_sleep(command: str) -> str:
    """The error for a command that starts with a long sleep; "" for any other command."""
    found = _SLEEP.fullmatch(command)
    if found is None or float(found["number"]) * _SECONDS[found["unit"]] < _LONG_SLEEP:
        return ""
    rest = (found["rest"] or "").strip()
    what = f"sleep {found['number']}{found['unit']}"
    return (
        f"Blocked: {f'{what} followed by: {rest}' if rest else f'standalone {what}'}. To wait for a condition, loop "
        "until it holds (`until <check>; do sleep 2; done`). To wait for a command you started, use "
        "run_in_background: true. Do not chain shorter sleeps to get around this."
    )


def expects_no_output(command: str) -> bool:
    """Whether every program in the command is silent on success."""
    return all(word in _SILENT for word in _programs(command))


def meaning_of(command: str, code: int) -> str:
    """The meaning of a non-zero exit code that is not a failure, else ""."""
    programs = _programs(command)
    return _EXIT_CODE_1.get(programs[-1], "") if programs and code == 1 else ""


def _programs(command: str) -> list[str]:
    """The first word of each part. This is only a guess, but it decides nothing more than a remark."""
    return [part.split(None, 1)[0] for part in _SEPARATOR.split(command) if part.strip()]
