"""Writes docs/benchmarks.md, and prints the same tables in the terminal."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.figures import Section
from benchmarks.workbench import PEER

__all__ = ["PAGE", "page_of", "show"]

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
INTRODUCTION = """# Benchmarks

Written by `make bench`, which takes up to 20 minutes and fails if a promise is broken. `make bench
BENCH_ARGS=bridge_delays` measures one section again; `make growth` fills a store with 3 million events.

Most figures are compared with a baseline that ran on the same machine in the same minutes, alternating; the ratios are
more meaningful than the figures. CPU is the user and system time of all threads of a process, without its children
unless noted; p50, p99 and p99.9 are percentiles; memory is resident memory. A *relay* only reads the lines of the same
child and forwards them; a *floor* is the least that any implementation has to do. A *live* line is sent to clients and
not stored; a *durable* line is stored before it is sent.
"""


def page_of(sections: Sequence[Section], peer_version: str, before: str = "") -> str:
    """The page in Markdown. Sections of the page `before` that were not measured now are kept, with their date."""
    facts = "\n".join(f"| {name} | {value} |" for name, value in _facts(peer_version))
    promises, bodies = _promises_of(before), _sections_of(before)
    for section in sections:
        measured = [(one.text, one.limit, one.measured, _mark(one.kept)) for one in section.promises]
        promises |= {row[0]: f"| {' | '.join(row)} |" for row in measured}
        about = f"{section.about} Measured on {datetime.now(UTC):%Y-%m-%d}."
        bodies[section.title] = f"{about}\n\n{_table(section.head, section.rows)}"
    parts = [
        INTRODUCTION,
        f"| | |\n|---|---|\n{facts}\n",
        f"## Promises\n\n{_table(('promise', 'limit', 'measured', ''), ())}" + "\n".join(promises.values()) + "\n",
        *(f"## {title}\n\n{body}" for title, body in bodies.items()),
    ]
    return "\n".join(parts)


def _sections_of(page: str) -> dict[str, str]:
    """The sections of a page by title, without the promises."""
    found = dict(part.split("\n\n", 1) for part in page.split("\n## ")[1:])
    found.pop("Promises", None)
    return {title: body.rstrip("\n") + "\n" for title, body in found.items()}


def _promises_of(page: str) -> dict[str, str]:
    """The rows of the table of promises, by text."""
    table = page.partition("\n## Promises\n\n")[2].partition("\n\n## ")[0].splitlines()[2:]
    return {row.split(" | ")[0].removeprefix("| "): row for row in table if row.startswith("| ")}


def show(console: Console, sections: Iterable[Section]) -> None:
    """Print sections in the terminal."""
    for section in sections:
        table = Table(*section.head, title=section.title, title_justify="left")
        for row in section.rows:
            table.add_row(*row)
        console.print(table)
        for promise in section.promises:
            colour = "green" if promise.kept else "bold red"
            console.print(
                f"  [{colour}]{_mark(promise.kept)}[/] {promise.text}: {promise.measured} (promised: {promise.limit})"
            )
        console.print()


def _facts(peer_version: str) -> list[tuple[str, str]]:
    return [
        ("date", f"{datetime.now(UTC):%Y-%m-%d}"),
        ("Handrail", version("handrail")),
        (PEER, peer_version),
        ("Python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("system", f"{platform.system()} {platform.machine()}"),
        ("cores", str(os.cpu_count())),
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def _mark(kept: bool) -> str:  # noqa: FBT001
    return "kept" if kept else "BROKEN"
