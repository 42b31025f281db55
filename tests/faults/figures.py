"""Writes the figures of a campaign to docs/reliability.md."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

__all__ = ["write_figures"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"


def write_figures(command: str, lines: Sequence[str], page: Path = PAGE) -> None:
    """Replace the lines between the marks of the command that measured them."""
    start, end = f"<!-- {command} writes from here -->\n", "<!-- to here -->"
    head = f"The last campaign, {datetime.now(UTC):%Y-%m-%d}, version {version('handrail')}:\n\n"
    text = page.read_text()
    new = re.sub(
        re.escape(start) + ".*?" + re.escape(end),
        lambda _: start + head + "\n".join(lines) + "\n" + end,
        text,
        flags=re.DOTALL,
    )
    page.write_text(new)
