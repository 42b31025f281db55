"""Hooks of MkDocs for pages that are not in docs/.

`contributing.md` and `changelog.md` come from the root of the repository; tools/reference_pages.py writes those in
`reference/`. The list of decisions in the navigation is made from their folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / ".docs" / "reference"
FROM_ROOT = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the list of decisions in the navigation."""
    decisions = [f"decisions/{path.name}" for path in sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    nav: list[dict[str, Any]] = list(config.nav or [])
    config.nav = [{"Decisions": decisions} if "Decisions" in entry else entry for entry in nav]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from elsewhere."""
    pages = {name: ROOT / source for name, source in FROM_ROOT.items()}
    pages |= {f"reference/{path.name}": path for path in sorted(REFERENCE.glob("*.md"))}
    for name, path in pages.items():
        text = path.read_text(encoding="utf-8").replace("](docs/", "](")  # links of the root, as they are from docs/
        files.append(File.generated(config, name, content=text))
    files.append(File.generated(config, "icon.svg", content=(ROOT / "web" / "public" / "icon.svg").read_text()))
    return files
