"""Bash: a command. In: the command, how long it may take, whether in the background. Out: what it printed."""

from __future__ import annotations

import asyncio
import os
import re
from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import Meta, Struct, field

from handrail.agent.tools.background import BackgroundTask, can_go_on, go_on
from handrail.agent.tools.base import Outcome, Tool, ToolFailed
from handrail.agent.tools.bash_words import expects_no_output, long_sleep, meaning_of
from handrail.agent.tools.large_output import Output, persisted
from handrail.agent.tools.refusal import refused
from handrail.agent.tools.sandbox import Box, is_boxed, make_box
from handrail.agent.tools.shell import Shell
from handrail.permissions.path_names import is_below

if TYPE_CHECKING:
    from handrail.agent.desk import Desk

__all__ = ["Bash", "BashInput"]

_TIMEOUT_MS: Final = 120_000
_LONGEST_MS: Final = 600_000
_MOST_CHARACTERS: Final = 30_000
_MOST_EVER: Final = 150_000
_BLANK_LINES: Final = re.compile(r"\A(?:[ \t\r]*\n)+")
_FOR_CHILDREN: Final = {"CLAUDECODE": "1", "GIT_EDITOR": "true"}
"""Programs may ask who started them, and none may wait for somebody to type."""


class BashInput(Struct, frozen=True):
    """A command, and how to run it."""

    command: Annotated[str, Meta(description="The command.")]
    timeout: Annotated[float | None, Meta(description="Milliseconds it may take; at most 600000.")] = None
    description: Annotated[str | None, Meta(description="What it does, in five to ten words.")] = None
    run_in_background: Annotated[bool, Meta(description="Do not wait for it; its output goes to a file.")] = False
    unboxed: Annotated[bool, Meta(description="Run it outside of the sandbox, where the settings allow that.")] = field(
        default=False, name="dangerouslyDisableSandbox"
    )


class Bash(Tool[BashInput]):
    """Runs a command."""

    name = "Bash"
    description = (
        "Runs a bash command and shows what it prints. The working folder stays as the last command left it; variables "
        "do not. Nothing can be typed in. Quote paths with spaces. For what takes long, use run_in_background."
    )
    Input = BashInput

    def describe(self, given: BashInput) -> str:
        return given.description or given.command

    async def run(self, given: BashInput, desk: Desk) -> Outcome:
        if not given.run_in_background and (problem := long_sleep(given.command)):
            return refused(problem)
        if "\x00" in given.command:
            raise ToolFailed("The command contains a NUL, and no command can.")
        try:
            given.command.encode()
        except UnicodeEncodeError:
            raise ToolFailed("The command contains half a character: it is not Unicode.") from None
        if given.run_in_background and not can_go_on(desk):
            raise ToolFailed("Nothing can run in the background here. Run it without run_in_background.")
        output = Output(_number(desk, "BASH_MAX_OUTPUT_LENGTH", _MOST_CHARACTERS, _MOST_EVER), desk.results_folder)
        shell = await _start(given, desk, output)
        if given.run_in_background:
            task = _leave(shell, output, given, desk)
            return Outcome(
                f"Command running in background with ID: {task.id}. {_follow(task)}",
                {**_detail("", given), "noOutputExpected": False, "backgroundTaskId": task.id},
            )
        return await _wait(shell, output, given, desk)


async def _start(given: BashInput, desk: Desk, output: Output) -> Shell:
    _come_back(desk)
    box = make_box(desk) if is_boxed(desk, unboxed_wanted=given.unboxed) else Box()
    try:
        return await Shell.start(
            given.command,
            cwd=desk.cwd,
            environment={**_FOR_CHILDREN, **desk.environment},
            sink=output.take,
            box=box.argv,
            on_end=box.tidy,
        )
    except BaseException as error:
        box.tidy()
        if not isinstance(error, OSError):
            raise
        raise ToolFailed(f"The command could not be started in {desk.cwd}: {error.strerror}") from error


def _come_back(desk: Desk) -> None:
    """Where its folder is gone, a command starts in the project."""
    if not os.path.isdir(desk.cwd):
        desk.cwd = desk.project


async def _wait(shell: Shell, output: Output, given: BashInput, desk: Desk) -> Outcome:
    """Until it has ended or its time is over; whoever stops waiting ends it and all it started."""
    limit = _limit(given, desk)
    try:
        async with asyncio.timeout(limit / 1000):
            code = await shell.wait()
    except TimeoutError:
        return await _late(shell, output, given, desk, limit)
    except BaseException:
        await shell.end()
        output.close()
        raise
    note = _move(desk, shell.last_folder())
    return _outcome(output, given, code, note)


async def _late(shell: Shell, output: Output, given: BashInput, desk: Desk, limit: int) -> Outcome:
    said = _plain(output.text)
    if not can_go_on(desk):
        await shell.end()
        output.close()
        return _failed(f"Command timed out after {limit / 1000:g}s and was ended", said)
    task = _leave(shell, output, given, desk)
    told = (
        f"Command did not complete within its {limit / 1000:g}s timeout and was moved to the background "
        f"(ID: {task.id}). {_follow(task)} It is running now: do not start a second copy while it runs."
    )
    detail = {**_detail(said, given), "backgroundTaskId": task.id, "timedOutAfterMs": limit}
    return Outcome(f"{said}\n{told}" if said else told, detail)


def _leave(shell: Shell, output: Output, given: BashInput, desk: Desk) -> BackgroundTask:
    return go_on(shell, output, desk, command=given.command, description=given.description or "")


def _follow(task: BackgroundTask) -> str:
    return (
        f"Output is being written to: {task.output_file}. You will be notified when it completes. "
        "To check interim output, use Read on that file path."
    )


def _outcome(output: Output, given: BashInput, code: int, note: str) -> Outcome:
    text = _plain(output.text)
    if output.is_cut:
        output.keep()
    output.close()
    meaning = meaning_of(given.command, code) if code else ""
    if code and not meaning:
        return _failed(f"Exit code {code}", "\n".join(part for part in (text, _rest(output), note) if part))
    detail = _detail(text, given)
    if note:
        detail["stderr"] = f"\n{note}"
    if meaning:
        detail["returnCodeInterpretation"] = meaning
    if output.is_cut and output.path:
        detail |= {"persistedOutputPath": output.path, "persistedOutputSize": output.size}
        text = persisted(text, output.size, output.path)
    elif output.is_cut:
        text = f"{text}\n{_rest(output)}"
    shown = "\n".join(part for part in (text, note) if part)
    return Outcome(shown or "(Bash completed with no output)", detail)


def _failed(why: str, text: str) -> Outcome:
    content = f"{why}\n{text}" if text else why
    return Outcome(content, f"Error: {content}", is_error=True)


def _rest(output: Output) -> str:
    """Where that is which is not shown."""
    if not output.is_cut:
        return ""
    return f"… [cut; all {output.size:,} bytes are in {output.path}]" if output.path else "… [cut; the rest is lost]"


def _detail(text: str, given: BashInput) -> dict[str, Any]:
    return {
        "stdout": text,
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": expects_no_output(given.command),
    }


def _plain(text: str) -> str:
    """An output without the empty lines around it."""
    return _BLANK_LINES.sub("", text).rstrip()


def _move(desk: Desk, folder: str) -> str:
    """Follow the command to its last folder. Out: what is said where it may not stay there."""
    if not folder or folder == os.path.realpath(desk.cwd):
        return ""
    places = [place for given in (desk.project, *desk.additional) for place in (given, os.path.realpath(given))]
    if any(is_below(folder, place) for place in places) and os.path.isdir(folder):
        desk.cwd = desk.project if folder == os.path.realpath(desk.project) else folder
        return ""
    desk.cwd = desk.project
    return f"Shell cwd was reset to {desk.project}"


def _limit(given: BashInput, desk: Desk) -> int:
    """Milliseconds that it may take."""
    most = _number(desk, "BASH_MAX_TIMEOUT_MS", _LONGEST_MS, 86_400_000)
    usual = _number(desk, "BASH_DEFAULT_TIMEOUT_MS", _TIMEOUT_MS, most)
    return int(min(given.timeout, most)) if given.timeout and given.timeout > 0 else usual


def _number(desk: Desk, name: str, usual: int, most: int) -> int:
    """A limit that the environment may set."""
    found = desk.environment.get(name, "")
    return min(int(found), most) if found.isdecimal() and len(found) < 10 and int(found) > 0 else usual
