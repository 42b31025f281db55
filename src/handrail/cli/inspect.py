"""`handrail inspect`: read a recording. In: a file. Out: a table, JSON, or one HTML page; exit 0, 1 failed, 2 usage."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from handrail.cli.inspect_report import Entry, Report, report_of
from handrail.cli.printable import printable
from handrail.transport.recording_file import RecordingError, read_recording

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

ARROWS = {"in": ("→", "cyan"), "out": ("←", "green"), "err": ("!", "yellow")}


@app.command()
def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The recording.")],
    html: Annotated[Path | None, typer.Option("--html", metavar="OUT", help="Write one self-contained page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The whole report as JSON.")] = False,  # noqa: FBT002
    only: Annotated[
        str, typer.Option(metavar="TYPE", help="Only these lines: a type, subtype, in, out, err, bad or unknown.")
    ] = "",
    raw: Annotated[bool, typer.Option("--raw", help="The lines themselves, as they went over the wire.")] = False,  # noqa: FBT002
) -> None:
    """Read a recording: both directions with times, requests with their answers, turns with duration and cost.

    → went to the CLI, ← came from it, ! stood on its stderr.

    \b
    Example:
      handrail inspect talk.ndjson --only can_use_tool
      handrail inspect talk.ndjson --html talk.html
    """
    try:
        report = report_of(read_recording(file))
        if html is not None:
            _write_page(report, file, html)
            return
    except RecordingError as error:
        raise typer.Exit(_fail(str(error))) from None
    except OSError as error:
        raise typer.Exit(_fail(f"{error.filename or file}: {error.strerror or error}")) from None
    entries = [entry for entry in report.entries if not only or only in entry.words]
    if as_json:
        sys.stdout.write(msgspec.json.encode(_as_json(report, entries, with_raw=raw)).decode() + "\n")
    elif raw:
        _print_raw(entries)
    else:
        _print_report(report, entries, whole=not only)
    if only and not entries and not as_json:
        raise typer.Exit(_fail(f"no line is {only!r}; there are: {', '.join(sorted(report.totals.kinds))}"))


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


def _fail(text: str) -> int:
    print(f"handrail inspect: {printable(text)}", file=sys.stderr)
    return 1
