"""Figures for people. In: sections. Out: the page docs/benchmarks.md, and the same tables in the terminal."""

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

Written by `make bench`; a promise that is broken makes it fail. Each figure stands beside that of a peer which ran in
the same minutes on the same machine: the ratios tell more than the figures.
"""


def page_of(sections: Sequence[Section], peer_version: str) -> str:
    """The whole page. In: the sections, the version of the official SDK. Out: Markdown."""
    facts = "\n".join(f"| {name} | {value} |" for name, value in _facts(peer_version))
    promises = [promise for section in sections for promise in section.promises]
    rows = [(promise.text, promise.limit, promise.measured, _mark(promise.kept)) for promise in promises]
    parts = [
        INTRODUCTION,
        f"| | |\n|---|---|\n{facts}\n",
        f"## Promises\n\n{_table(('promise', 'limit', 'measured', ''), rows)}",
        *(f"## {section.title}\n\n{section.about}\n\n{_table(section.head, section.rows)}" for section in sections),
    ]
    return "\n".join(parts)


def show(console: Console, sections: Iterable[Section]) -> None:
    """The same in the terminal."""
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
