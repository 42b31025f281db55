"""`handrail inspect`: read a recording, compare two, or record what a CLI sends to the Messages API.

Exit codes: 0 success, 1 failed, 2 usage. A comparison ends like diff: 0 no difference, 1 differences, 2 failed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from handrail.cli.inspect_report import Entry, Report, report_of
from handrail.cli.printable import printable
from handrail.conform.request_file import RequestFileError, is_request_file, read_requests
from handrail.transport.recording_file import RecordingError, read_recording

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from handrail.cli.inspect_compare import Line

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

ARROWS = {"in": ("→", "cyan"), "out": ("←", "green"), "err": ("!", "yellow")}


@app.command()
def inspect(
    files: Annotated[list[str], typer.Argument(metavar="FILE [OTHER]", help="A recording, or two to compare.")],
    html: Annotated[
        Path | None, typer.Option("--html", metavar="OUT", help="Write a self-contained HTML page.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,  # noqa: FBT002
    only: Annotated[
        str, typer.Option(metavar="TYPE", help="Only lines of this type or subtype, or in, out, err, bad, unknown.")
    ] = "",
    raw: Annotated[bool, typer.Option("--raw", help="Print the raw lines.")] = False,  # noqa: FBT002
    requests: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT", help="Run the command after -- with a scripted model and write its requests to OUT."
        ),
    ] = None,
    script: Annotated[Path | None, typer.Option(metavar="JSON", help="The script of that model.")] = None,
) -> None:
    """Print a recording: both directions with times, requests with their answers, turns with duration and cost.

    → was sent to the CLI, ← came from it, ! is a line of its stderr.

    With two recordings: lines that only one has (- +), that are in another place (>), and fields that differ (~). Ids
    and times are ignored. Exits with 1 if there is a difference, as diff does.

    With --requests: runs a CLI and writes what it sends to the Messages API. Two such files are compared in the same
    way.

    \b
    Example:
      handrail inspect talk.ndjson --only can_use_tool
      handrail inspect talk.ndjson --html talk.html
      handrail inspect before.ndjson after.ndjson
      handrail inspect --requests a.ndjson -- claude -p "Say hello."
    """
    if requests is not None:
        raise typer.Exit(_record_requests(files, requests, script))
    if script is not None:
        raise typer.Exit(_fail("--script needs --requests", 2))
    file, *others = map(Path, files)
    if len(others) > 1:
        raise typer.Exit(_fail(f"{len(files)} files were given; one is read, two are compared", 2))
    if others and (html is not None or raw):
        raise typer.Exit(_fail("--html and --raw are for one recording, not for a comparison", 2))
    try:
        if others:
            raise typer.Exit(_compare(file, others[0], only=only, as_json=as_json))
        if is_request_file(file):
            _print_requests(file, as_json=as_json)
            return
        report = report_of(read_recording(file))
        if html is not None:
            _write_page(report, file, html)
            return
    except (RecordingError, RequestFileError) as error:
        raise typer.Exit(_fail(str(error), 2 if others else 1)) from None
    except OSError as error:
        raise typer.Exit(_fail(f"{error.filename or file}: {error.strerror or error}", 2 if others else 1)) from None
    entries = [entry for entry in report.entries if not only or only in entry.words]
    if as_json:
        sys.stdout.write(msgspec.json.encode(_as_json(report, entries, with_raw=raw)).decode() + "\n")
    elif raw:
        _print_raw(entries)
    else:
        _print_report(report, entries, whole=not only)
    if only and not entries and not as_json:
        raise typer.Exit(_fail(f"no line is {only!r}; there are: {', '.join(sorted(report.totals.kinds))}"))


def _record_requests(command: list[str], out: Path, script: Path | None) -> int:
    from handrail.agent.models.script import ScriptError
    from handrail.cli.inspect_requests import record_requests

    try:
        code, count = record_requests(command, out, script)
    except ScriptError as error:
        return _fail(str(error), 2)
    except OSError as error:
        return _fail(f"{error.filename or command[0]}: {error.strerror or error}", 2)
    print(f"handrail inspect: wrote {count} requests to {printable(str(out))}", file=sys.stderr)
    return code if code >= 0 else 128 - code


def _compare(a: Path, b: Path, *, only: str, as_json: bool) -> int:
    from handrail.cli.inspect_compare import compare
    from handrail.cli.inspect_differences import print_differences

    if is_request_file(a) != is_request_file(b):
        return _fail("one file has requests to the Messages API, the other a recording of the wire", 2)
    found = compare(_lines_of(a, only), _lines_of(b, only))
    if as_json:
        sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    else:
        print_differences(found)
    return 0 if found.same else 1


def _lines_of(file: Path, only: str) -> list[Line]:
    from handrail.cli.inspect_compare import lines_of
    from handrail.cli.inspect_requests import request_lines

    if is_request_file(file):
        return [line for line in request_lines(read_requests(file)) if only in ("", line.kind)]
    return lines_of(report_of(read_recording(file)), only)


def _print_requests(file: Path, *, as_json: bool) -> None:
    from handrail.conform.request_facts import request_facts

    requests = read_requests(file)
    facts = [request_facts(request) for request in requests]
    if as_json:
        sys.stdout.write(msgspec.json.encode(facts).decode() + "\n")
        return
    for number, (request, fact) in enumerate(zip(requests, facts, strict=True), 1):
        kind, model = "request" if request.main else "side request", printable(str(request.body["model"]))
        print(
            f"{number:4} {kind:12} {model}: system {fact.system:,} B, {len(fact.tool_names)} tools"
            f" {fact.tools:,} B, reminders {fact.reminders:,} B, messages {fact.messages:,} B, max_tokens"
            f" {fact.max_tokens:,}, {fact.betas} betas"
        )


def _write_page(report: Report, file: Path, out: Path) -> None:
    from handrail.cli.inspect_page import page_of

    page = page_of(report, title=file.name)
    out.touch(mode=0o600)  # as private as the recording
    out.write_text(page, encoding="utf-8")
    print(f"wrote {out}")


def _as_json(report: Report, entries: list[Entry], *, with_raw: bool) -> dict[str, Any]:
    parts = msgspec.structs.asdict(report)
    listed: list[dict[str, Any]] = []
    for entry in entries:
        fields = msgspec.structs.asdict(entry)
        row = fields.pop("row")
        listed.append(fields | {"raw": row.data.decode("utf-8", "replace")} if with_raw and row else fields)
    return parts | {"entries": listed}


def _print_raw(entries: Iterable[Entry]) -> None:
    for entry in entries:
        if entry.row is not None and not entry.row.eof:
            sys.stdout.buffer.write(entry.row.data + b"\n")
    sys.stdout.buffer.flush()


def _print_report(report: Report, entries: list[Entry], *, whole: bool) -> None:
    from rich.console import Console

    terminal = sys.stdout.isatty()
    console = Console(
        highlight=False, markup=False, emoji=False, soft_wrap=not terminal, width=None if terminal else 140
    )
    for line in _lines(entries):
        _print_line(console, *line)
    if whole:
        for table in (_turn_table(report), _pair_table(report)):
            if table.row_count:
                console.print()
                console.print(table)
        console.print()
    for line in _total_lines(report) if whole else ():
        console.print(printable(line))


def _lines(entries: Iterable[Entry]) -> Iterator[tuple[Entry, int]]:
    """The entries to show: a run of stream events becomes its first, with their number."""
    first: Entry | None = None
    count = 0
    for entry in entries:
        if first is not None and entry.type == first.type == "stream_event" and _event(entry) == _event(first):
            count += 1
            continue
        if first is not None:
            yield first, count
        first, count = entry, 1
    if first is not None:
        yield first, count


def _event(entry: Entry) -> str:
    return entry.summary.partition(" ")[0]


def _print_line(console: Console, entry: Entry, count: int) -> None:
    from rich.text import Text

    arrow, colour = ARROWS[entry.dir]
    line = Text(f"{entry.t:9.3f} ", style="dim", no_wrap=True, overflow="ellipsis")
    line.append(f"{arrow} ", style=colour)
    line.append(f"{printable(entry.kind):<24.40} ", style="bold" if not entry.flag else "bold red")
    if entry.flag:
        line.append(f"[{entry.flag}] ", style="red")
    if entry.latency is not None:
        line.append(f"({_seconds(entry.latency)}) ", style="magenta")
    if count > 1:
        line.append(f"×{count} ", style="dim")
    line.append(printable(entry.summary))
    console.print(line)


def _turn_table(report: Report) -> Table:
    from rich import box
    from rich.table import Table

    names = ("turn", "prompt", "at", "first word", "took", "cost", "output", "tools", "outcome")
    table = Table(*names, title="Turns", title_justify="left", box=box.SIMPLE_HEAD)
    for turn in report.turns:
        table.add_row(
            str(turn.number),
            printable(turn.prompt)[:48],
            f"{turn.began:.3f}",
            _seconds(turn.first),
            _seconds(turn.seconds),
            f"${turn.cost:.4f}" if turn.cost is not None else "–",
            f"{turn.output_tokens} tokens" if turn.output_tokens is not None else "–",
            str(turn.tools),
            printable(turn.outcome),
        )
    return table


def _pair_table(report: Report) -> Table:
    from rich import box
    from rich.table import Table

    names = ("at", "asked by", "request", "about", "outcome", "latency")
    table = Table(*names, title="Requests and answers", title_justify="left", box=box.SIMPLE_HEAD)
    for pair in report.pairs:
        about = printable(pair.about)[:48]
        request = printable(pair.subtype)
        table.add_row(f"{pair.asked:.3f}", pair.by, request, about, pair.outcome, _seconds(pair.latency))
    return table


def _total_lines(report: Report) -> Iterator[str]:
    totals = report.totals
    lines = ", ".join(f"{number} {name} ({totals.bytes[name]} bytes)" for name, number in totals.lines.items())
    yield f"{totals.seconds:.3f} s, {lines or 'no lines'}; {totals.ending}"
    yield (
        f"{totals.turns} turns, ${totals.cost:.4f}; {totals.requests} requests, {totals.unanswered} unanswered, "
        f"latency {_seconds(totals.median_latency)} median, {_seconds(totals.slowest_latency)} at most"
    )
    if totals.bad or totals.unknown:
        unknown = ", ".join(f"{name} ×{number}" for name, number in totals.unknown.items())
        yield f"bad lines: {totals.bad}; unknown kinds: {unknown or 'none'}"


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.2f} s"


def _fail(text: str, code: int = 1) -> int:
    print(f"handrail inspect: {printable(text)}", file=sys.stderr)
    return code
