"""`handrail run`: one prompt in the terminal."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from handrail.cli.printable import printable
from handrail.cli.terminal import closed_pipe_ends_quietly

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

SETTING_SOURCES = ("user", "project", "local")
FLAGS = {
    "cli_path": "--cli",
    "add_dirs": "--add-dir",
    "allowed_tools": "--allow",
    "disallowed_tools": "--deny",
    "continue_conversation": "--continue",
    "max_budget_usd": "--max-budget",
}
"""Options whose flag has another name."""

DEMO = "Demo mode: a script answers. `handrail connect` connects a model."
Form = Literal["full", "quiet", "json"]
"""How much is printed."""

Prompt = Annotated[str, typer.Argument(metavar="PROMPT", help="The task; - reads it from standard input.")]
Cli = Annotated[
    str, typer.Option(metavar="claude|agent|NAME|PATH", help="The CLI. `handrail agents list` shows names.")
]
Cwd = Annotated[
    Path | None,
    typer.Option(metavar="DIR", exists=True, file_okay=False, help="The working folder. Default: this one."),
]
Model = Annotated[str | None, typer.Option(metavar="NAME", help="The model.")]
Mode = Annotated[
    str | None, typer.Option(metavar="MODE", help="default, acceptEdits, plan, dontAsk or bypassPermissions.")
]
Allowed = Annotated[list[str] | None, typer.Option(metavar="TOOL", help="A tool or rule to allow without asking.")]
Denied = Annotated[list[str] | None, typer.Option(metavar="TOOL", help="A tool or rule to deny.")]
Resume = Annotated[str | None, typer.Option(metavar="ID", help="Resume a session by its id, or the beginning of it.")]
Continue = Annotated[bool, typer.Option("--continue", help="Resume the latest session of the folder.")]
MaxTurns = Annotated[int | None, typer.Option(metavar="N", min=1, help="Stop after this many requests to the model.")]
MaxBudget = Annotated[float | None, typer.Option(metavar="USD", help="Stop at this cost.")]
AddDirs = Annotated[
    list[Path] | None,
    typer.Option(metavar="DIR", exists=True, file_okay=False, help="Another folder that tools may use."),
]
Sources = Annotated[
    str,
    typer.Option(
        metavar="LIST", help="Settings files to read: user,project,local. Those of a folder can run commands."
    ),
]
Images = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", exists=True, dir_okay=False, help="An image to send with the prompt."),
]
Record = Annotated[Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Record the session in a new file.")]
Thinking = Annotated[bool, typer.Option("--thinking", help="Show the thinking of the model.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print each message as a line of JSON; never ask.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the final text.")]


@app.command()
def run(
    prompt: Prompt,
    cli: Cli = "",
    cwd: Cwd = None,
    model: Model = None,
    permission_mode: Mode = None,
    allow: Allowed = None,
    deny: Denied = None,
    resume: Resume = None,
    continue_: Continue = False,  # noqa: FBT002 - typer's way to declare a flag
    max_turns: MaxTurns = None,
    max_budget: MaxBudget = None,
    add_dir: AddDirs = None,
    setting_sources: Sources = "",
    image: Images = None,
    record: Record = None,
    thinking: Thinking = False,  # noqa: FBT002
    as_json: AsJson = False,  # noqa: FBT002
    quiet: Quiet = False,  # noqa: FBT002
) -> None:
    """Run one prompt in the terminal. Prints the text as it arrives, each tool call on one line, and the cost.

    It asks before a tool that needs permission; without a terminal, or with --json, such tools are denied. --allow,
    --deny, --add-dir and --image can be repeated. Ctrl-C interrupts the turn; a second one ends the session.

    \b
    Exit codes: 0 success, 1 failure, 2 usage error, 130 interrupted.

    \b
    Examples:
      handrail run "What does this project do?"
      handrail run --allow "Bash(make test)" --max-turns 20 "Make the tests pass"
      handrail run --quiet - < question.txt > answer.txt
    """
    if as_json and quiet:
        raise typer.BadParameter("choose one of --json and --quiet")
    fields = {
        "cwd": cwd,
        "model": model,
        "permission_mode": permission_mode,
        "allowed_tools": allow or (),
        "disallowed_tools": deny or (),
        "resume": _session(resume),
        "continue_conversation": continue_,
        "max_turns": max_turns,
        "max_budget_usd": max_budget,
        "add_dirs": add_dir or (),
        "setting_sources": _sources(setting_sources),
        "record": _new_file(record),
    }
    form: Form = "json" if as_json else "quiet" if quiet else "full"
    images = [_image(path) for path in image or ()]
    raise typer.Exit(_run(cli, fields, _prompt(prompt), images, form, thinking=thinking))


def _run(cli: str, fields: dict[str, Any], prompt: str, images: list[bytes], form: Form, *, thinking: bool) -> int:
    from handrail.cli.one_turn import run_turn
    from handrail.client.errors import HandrailError, OptionsError
    from handrail.client.options import Options
    from handrail.model_access.choice import CliChoice, NoCli

    try:
        choice = CliChoice(cli)
        chosen = choice.current(version=False)
        if form == "full" and (note := DEMO if chosen.demo else choice.problem):
            _say(note)
        options = Options(cli_path=chosen.path, env=choice.child_environment(), **fields)
        with closed_pipe_ends_quietly():
            return asyncio.run(run_turn(options, prompt, images, form, thinking=thinking))
    except OptionsError as error:
        flag = FLAGS.get(error.option, f"--{error.option.replace('_', '-')}")
        _say(f"{flag}: {str(error).partition(': ')[2]}")
        return 2
    except NoCli as error:
        _say(f"--cli: {error}" if cli else str(error))
        return 2
    except (HandrailError, OSError) as error:
        _say(str(error))
        return 1


def _prompt(given: str) -> str:
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if given == "-" else given
    if not text.strip():
        raise typer.BadParameter("the prompt is empty", param_hint="PROMPT")
    return text


def _session(given: str | None) -> str | None:
    """The session id of --resume. A complete id is left to the CLI; the beginning of one is looked up here."""
    from handrail.transcripts import InvalidSessionId, TranscriptError, check_session_id, match_session

    if given is None:
        return None
    try:
        return check_session_id(given)
    except InvalidSessionId:
        pass
    try:
        return match_session(given).id
    except TranscriptError as error:
        raise typer.BadParameter(printable(str(error)), param_hint="--resume") from None


def _sources(given: str) -> list[str]:
    names = [name.strip() for name in given.split(",") if name.strip()]
    if unknown := [name for name in names if name not in SETTING_SOURCES]:
        raise typer.BadParameter(f"{unknown[0]!r} is not one of user, project, local", param_hint="--setting-sources")
    return names


def _new_file(path: Path | None) -> Path | None:
    if path is not None and path.exists():
        raise typer.BadParameter(f"{path} exists; choose another name", param_hint="--record")
    return path


def _image(path: Path) -> bytes:
    from handrail.client.prompts import image_block

    try:
        data = path.read_bytes()
        image_block(data)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise typer.BadParameter(f"{path}: {reason}", param_hint="--image") from None
    return data


def _say(text: str) -> None:
    print(printable(f"handrail run: {text}"), file=sys.stderr)
