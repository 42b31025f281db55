"""`handrail conform`: checks whether an executable speaks the protocol."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from handrail.cli.printable import as_json_escapes, printable
from handrail.cli.terminal import Terminal, closed_pipe_ends_quietly, one_line

if TYPE_CHECKING:
    from handrail.conform.battery import Outcome
    from handrail.conform.check import Check

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

MARKS = {"agrees": ("✓", "green"), "drifted": ("✗", "red")}


@app.command()
def conform(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- CMD...", help="The executable and its first arguments.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="PATTERN", help="A topic, a name or a pattern; can be repeated."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, max=64, metavar="N", help="Checks to run at once. Default: one per core."),
    ] = None,
    limit: Annotated[
        float, typer.Option("--timeout", min=1, metavar="SECONDS", help="The time limit of a check.")
    ] = 60,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,  # noqa: FBT002
    versions: Annotated[
        int, typer.Option("--versions", min=0, max=50, metavar="N", help="Compare the newest N versions of claude.")
    ] = 0,
    listing: Annotated[bool, typer.Option("--list", help="List the checks without running them.")] = False,  # noqa: FBT002
) -> None:
    """Check whether an executable speaks the protocol.

    Each check starts the executable in a temporary home and project, with a scripted model on loopback and without
    access to other addresses. No account is needed, and none of your files are read or written.

    With --versions, npm installs the newest versions of the Claude CLI into ~/.cache/handrail, and a report shows which
    checks agree with each, and what appeared and vanished between them.

    Exit codes: 0 if every check agrees, 1 if one does not, 2 usage error.

    \b
    Example:
      handrail conform -- claude
      handrail conform --only permission --only 'hook.*' -- ./my-agent --debug
      handrail conform --json -- handrail-agent > drift.json
      handrail conform --versions 5 > versions.md
    """
    from handrail.conform.battery import chosen

    checks = chosen(only or ())
    if not checks:
        raise typer.BadParameter("unknown check; --list prints the names", param_hint="--only")
    with closed_pipe_ends_quietly():
        if listing:
            _print_list(checks, as_json=as_json)
            return
        if versions:
            return _compare(versions, checks, jobs or _places(), limit, as_json=as_json)
        outcomes = _run(_found(command or []), checks, jobs or _places(), limit, shown=not as_json)
        _print_json(command or [], outcomes) if as_json else _print_table(outcomes)
    raise typer.Exit(1 if any(each.verdict == "drifted" for each in outcomes) else 0)


def _compare(count: int, checks: list[Check], jobs: int, limit: float, *, as_json: bool) -> None:
    from handrail.conform.versions import VersionsFailed, compare_versions, report_page

    async def collect() -> list[Any]:
        found: list[Any] = []
        async for report in compare_versions(count, checks, jobs=jobs, limit=limit):
            found.append(report)
            print(f"{report.version}: {len(report.drifted)} of {len(checks)} checks drifted", file=sys.stderr)
        return found

    try:
        reports = asyncio.run(collect())
    except VersionsFailed as error:
        print(f"handrail conform: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    _write_json(reports) if as_json else print(report_page(reports), end="")


def _places() -> int:
    return max(2, os.cpu_count() or 1)


def _found(command: list[str]) -> list[str]:
    """The command with the whole path of its executable: checks start it in other folders."""
    if not command:
        raise typer.BadParameter("name the executable: handrail conform -- claude", param_hint="CMD")
    path = shutil.which(command[0])
    if path is None:
        raise typer.BadParameter(f"{printable(command[0])} is neither an executable file nor on PATH", param_hint="CMD")
    return [os.path.abspath(path), *(_absolute(each) for each in command[1:])]


def _absolute(argument: str) -> str:
    """An argument that names a file of this folder names it from every folder."""
    is_file = not argument.startswith("-") and os.path.isfile(argument)
    return str(Path(argument).absolute()) if is_file else argument


def _run(command: list[str], checks: list[Check], jobs: int, limit: float, *, shown: bool) -> list[Outcome]:
    from handrail.conform.battery import run_battery

    terminal = Terminal()

    async def collect() -> list[Outcome]:
        done: list[Outcome] = []
        if task := asyncio.current_task():  # on SIGTERM it ends the processes that it started
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        async for outcome in run_battery(command, checks, jobs=jobs, limit=limit):
            done.append(outcome)
            if shown:
                drifted = sum(each.verdict == "drifted" for each in done)
                terminal.status(f"{len(done)} of {len(checks)} checks, {drifted} drifted; {outcome.name}")
        terminal.status("")
        return done

    places = {check.name: place for place, check in enumerate(checks)}
    try:
        return sorted(asyncio.run(collect()), key=lambda outcome: places[outcome.name])
    except asyncio.CancelledError:
        raise typer.Exit(143) from None


def _print_list(checks: Iterable[Check], *, as_json: bool) -> None:
    if as_json:
        _write_json([{"name": check.name, "expected": check.expected} for check in checks])
        return
    for check in checks:
        print(f"{check.name:<44} {check.expected}")


def _print_json(command: list[str], outcomes: list[Outcome]) -> None:
    counts = {verdict: sum(each.verdict == verdict for each in outcomes) for verdict in MARKS}
    _write_json({"command": command, **counts, "checks": outcomes})


def _write_json(value: Any) -> None:
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    sys.stdout.buffer.write(as_json_escapes(text).encode() + b"\n")
    sys.stdout.buffer.flush()


def _print_table(outcomes: list[Outcome]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", no_wrap=True)
    table.add_column("Check", no_wrap=True)
    table.add_column("Time", justify="right", no_wrap=True)
    table.add_column("Expected, and what was seen instead", overflow="fold")
    for outcome in outcomes:
        mark, style = MARKS[outcome.verdict]
        words = Text(outcome.expected)
        if outcome.seen:
            words.append(f"\nseen: {one_line(outcome.seen, 600)}", style="yellow")
        table.add_row(Text(mark, style), Text(outcome.name), Text(f"{outcome.seconds:.1f} s", "dim"), words)
    console = Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else 160)
    console.print(table)
    drifted = sum(outcome.verdict == "drifted" for outcome in outcomes)
    console.print(f"\n{len(outcomes) - drifted} of {len(outcomes)} checks agree, {drifted} drifted.")
