"""The files of the repository, their texts and syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "handrail"


def ignored_folders() -> set[str]:
    """The folder names in .gitignore."""
    lines = (ROOT / ".gitignore").read_text().splitlines()
    return {line.rstrip("/") for line in lines if line.endswith("/")} | {".git"}


@cache
def files() -> tuple[Path, ...]:
    """Every file that belongs to the repository."""
    return tuple(walk(ROOT, ignored_folders()))


def walk(folder: Path, ignored: set[str]) -> Iterator[Path]:
    """The files below a folder, in order, without those in an ignored folder."""
    for path in sorted(folder.iterdir()):
        if path.name in ignored or path.suffix == ".egg-info":
            continue
        if path.is_dir():
            yield from walk(path, ignored)
        elif path.name not in {".coverage"} and path.suffix != ".pyc":
            yield path


def texts() -> Iterator[tuple[str, str]]:
    """Every text file, as relative path and content."""
    for path in files():
        yield name_of(path), path.read_text(encoding="utf-8", errors="replace")


def modules() -> list[Path]:
    """Every module of the package."""
    return [path for path in files() if path.suffix == ".py" and path.is_relative_to(PACKAGE)]


def pages() -> list[Path]:
    """The Markdown pages of the root and of docs/."""
    docs = ROOT / "docs"
    return [path for path in files() if path.suffix == ".md" and (path.parent == ROOT or path.is_relative_to(docs))]


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of one module."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def name_of(path: Path) -> str:
    """The path relative to the root, with slashes."""
    return path.relative_to(ROOT).as_posix()
