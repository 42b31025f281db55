"""Figures are written between their marks, and the rest of the page is unchanged."""

from __future__ import annotations

from pathlib import Path

from tests.faults.figures import write_figures


def test_figures_replace_the_old_ones(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- make x writes from here -->\nold\n<!-- to here -->\nb\n<!-- make y writes from here -->\n")
    write_figures("make x", ["- new"], page)
    text = page.read_text()
    assert "old" not in text
    assert text.startswith("a\n<!-- make x writes from here -->\nThe last campaign, ")
    assert text.endswith("- new\n<!-- to here -->\nb\n<!-- make y writes from here -->\n")
