"""`handrail trust`: shows what a folder's own files would run, and accepts or revokes it."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import msgspec
import typer

from handrail.cli.terminal import Terminal, closed_pipe_ends_quietly, one_line, printable
from handrail.settings import (
    Item,
    Standing,
    TrustError,
    accept,
    cli_state_file,
    config_home,
    host_trusts_folder,
    look,
    revoke,
)

__all__ = ["app"]

app = typer.Typer(
    help="Show what the files of a folder would run or change, and accept or revoke it.",
    epilog="Example: handrail trust show ~/projects/just-cloned",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The folder.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
HEADINGS = {
    "hook": "Hooks run by themselves, at these events",
    "mcp server": "MCP servers are started, or called",
    "env": "Variables are set for everything that runs",
    "permission": "Permissions are granted without a question",
    "helper": "Helper programs are run",
    "setting": "Other settings are changed",
    "agent": "Agents: instructions and powers for the model",
    "skill": "Skills: instructions and powers for the model",
    "command": "Commands: prompts, and what runs with them",
    "git": "Git runs these by itself",
    "script": "Files of the folder that the above start",
}
MARKS = {"new": "+", "changed": "~", "gone": "-"}


@app.command()
def show(directory: Directory, as_json: AsJson = False) -> None:  # noqa: FBT002 - typer's way to declare a flag
    """List every item that would run or change something, with its file and line.

    Items marked [counts already] apply without trust, because they run nothing and allow nothing. After you accepted a
    folder, + marks new items, ~ changed ones, - removed ones.

    \b
    Example:
      handrail trust show .
    """
    with closed_pipe_ends_quietly():
        standing = _look(directory, host_trusts=host_trusts_folder(os.environ))
        if as_json:
            print_json(standing_as_data(standing))
        else:
            _print(Terminal(), standing)


@app.command("accept")
def accept_command(
    directory: Directory,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,  # noqa: FBT002
    digest: Annotated[
        str, typer.Option("--digest", metavar="HASH", help="Accept only if `show --json` still prints this digest.")
    ] = "",
) -> None:
    """Show every item, ask, and trust the folder until one of these files changes.

    \b
    Example:
      handrail trust accept .
    """
    terminal = Terminal()
    standing = _look(directory)
    if digest and digest != standing.contents.digest:
        _fail("the folder has changed since it was looked at; look again: handrail trust show DIR")
    _print(terminal, standing)
    if standing.is_accepted or not standing.contents.needs_trust:
        return
    if not yes and not digest:
        if not sys.stdin.isatty():
            _fail("cannot ask without a terminal; use --yes, or --digest HASH for exactly what was shown", code=2)
        typer.confirm("Let all of this run and count here?", abort=True, err=True)
    try:
        accept(standing.contents, config_home())  # what was shown, even if the files have changed since
    except TrustError as error:
        _fail(str(error))
    terminal.line("accepted", "green")


@app.command("revoke")
def revoke_command(directory: Directory) -> None:
    """Stop trusting a folder. Its hooks, servers and allow rules no longer apply.

    \b
    Example:
      handrail trust revoke .
    """
    folder = os.path.realpath(directory)  # also for a deleted folder
    try:
        was = revoke(folder, config_home())
    except TrustError as error:
        _fail(str(error))
    terminal = Terminal()
    terminal.line("revoked" if was else "nothing was accepted there")
    if not no_folder(directory) and look(folder).given_by == "cli":
        terminal.line(f"The folder is still trusted, because {_in_cli()}.", "yellow")


def _look(directory: Path, *, host_trusts: bool = False) -> Standing:
    if why := no_folder(directory):
        _fail(f"{directory}: {why}", code=2)
    return look(str(directory), host_trusts=host_trusts)


def _in_cli() -> str:
    return f"it was accepted in Claude Code (hasTrustDialogAccepted in {flat(cli_state_file())})"


def no_folder(path: Path) -> str:
    """The reason why this folder cannot be read; "" if it can."""
    try:
        if not stat.S_ISDIR(path.stat().st_mode):
            return "not a folder"
        os.scandir(path).close()
    except FileNotFoundError:
        return "no such folder"
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _print(terminal: Terminal, standing: Standing) -> None:
    contents = standing.contents
    terminal.line(one_line(contents.folder, 4096), "bold")
    by_kind = [(heading, [i for i in contents.items if i.kind == kind]) for kind, heading in HEADINGS.items()]
    marks = {id(change.item): MARKS[change.what] for change in standing.changes}
    for heading, items in by_kind:
        if items:
            terminal.line(f"\n{heading}", "bold")
            for item in items:
                terminal.line(f"  {marks.get(id(item), ' ')} {_item(item)}")
    gone = [change.name for change in standing.changes if change.what == "gone"]
    for name in gone:
        terminal.line(f"  - {flat(name)} is gone")
    for text in (*map(str, contents.problems), *([standing.problem] if standing.problem else [])):
        terminal.line(f"\n! {flat(text)}", "red")
    terminal.line(f"\n{_verdict(standing)}", "green" if standing.trusted else "yellow")


def _item(item: Item) -> str:
    note = "" if item.needs_trust else "  [counts already]"
    return f"{flat(item.name)}: {flat(item.text)}  ({flat(item.path)}:{item.line}){note}"


def _verdict(standing: Standing) -> str:
    if standing.accepted is not None and standing.is_accepted:
        return f"Accepted on {standing.accepted.at}; unchanged since."
    if standing.given_by == "host":
        return "Trusted: HANDRAIL_TRUST_FOLDER is set, and an agent with this environment trusts its folder."
    if standing.given_by == "cli":
        return f"Trusted: {_in_cli()}."
    if standing.trusted:
        return "Nothing here runs or changes anything by itself."
    again = "It has changed since it was accepted" if standing.accepted is not None else "Not accepted"
    counts = "only restrictions, text for the model and harmless choices count"
    return f"{again}: of all this {counts}. Accept it: handrail trust accept DIR"


def standing_as_data(standing: Standing) -> dict[str, Any]:
    """A standing for scripts."""
    contents = standing.contents
    return {
        "folder": contents.folder,
        "trusted": standing.trusted,
        "trusted_by": standing.given_by or ("handrail" if standing.is_accepted else None),
        "accepted": None if standing.accepted is None else standing.accepted.at,
        "digest": contents.digest,
        "items": contents.items,
        "changes": standing.changes,
        "problems": [*map(str, contents.problems), *([standing.problem] if standing.problem else [])],
    }


def flat(text: str) -> str:
    """A text on one line, with control characters escaped."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """Print JSON for scripts, in ASCII, so that no text in it can control a terminal."""
    sys.stdout.write(json.dumps(msgspec.to_builtins(value), indent=indent) + "\n")


def _fail(text: str, *, code: int = 1) -> NoReturn:
    typer.echo(f"handrail trust: {flat(text)}", err=True)
    raise typer.Exit(code)
