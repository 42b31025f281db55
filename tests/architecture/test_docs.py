"""Files, names, links and commands in the documentation exist."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from handrail import Options
from tests.architecture.repository import PACKAGE, ROOT, modules, name_of, pages

SOURCE_PATH = re.compile(r"\b(?:src/handrail|tests|benchmarks|tools|docs|\.ci)(?:/[\w.-]+)*/[\w-]+\.(?:py|md|sh)\b")
DOTTED_NAME = re.compile(r"(?<![\w./@-])handrail(?:\.[A-Za-z_]\w*)+")
NO_PYTHON = {"handrail.v1", "handrail.db"}
"""Dotted words that look like names in the package."""
MAKE_TARGET = re.compile(r"\bmake ([a-z][a-z-]+)\b(?=[`\s|.,:;)])")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
PAGES = pages()


def on_pages(wrong: Callable[[Path], Iterable[str]]) -> list[str]:
    """The problems of each page."""
    return [f"{name_of(page)}: {what}" for page in PAGES for what in sorted(wrong(page))]


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_every_file_that_a_page_names_exists():
    def missing(page: Path) -> list[str]:
        return [path for path in SOURCE_PATH.findall(page.read_text()) if not (ROOT / path).exists()]

    assert on_pages(missing) == []


def test_every_dotted_name_on_a_page_resolves():
    def unresolved(page: Path) -> list[str]:
        named = set(DOTTED_NAME.findall(page.read_text())) - NO_PYTHON
        return [name for name in named if not resolves(name)]

    assert on_pages(unresolved) == []


def resolves(dotted: str) -> bool:
    """Whether a dotted name is a module or an attribute of one."""
    value: object = importlib.import_module("handrail")
    walked = "handrail"
    for part in dotted.split(".")[1:]:
        walked = f"{walked}.{part}"
        if hasattr(value, part):
            value = getattr(value, part)
        elif hasattr(value, "__path__") and importlib.util.find_spec(walked):
            value = importlib.import_module(walked)
        else:
            return False
    return True


def test_every_link_to_a_file_resolves():
    def dead(page: Path) -> list[str]:
        targets = [target for target in LINK.findall(page.read_text()) if ":" not in target]
        return [target for target in targets if not (page.parent / target).exists()]

    assert on_pages(dead) == []


def test_every_make_command_in_code_style_is_a_target_of_the_makefile():
    def unknown(page: Path) -> set[str]:
        code = " ".join(re.findall(r"`[^`\n]+`", page.read_text()))
        return set(MAKE_TARGET.findall(code)) - make_targets()

    assert on_pages(unknown) == []


def test_contributing_lists_every_make_target():
    listed = set(re.findall(r"^\| `make ([a-z-]+)", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE))
    assert listed == make_targets()


def test_configuration_page_lists_every_variable():
    """The others are set by Handrail for its own processes, or are for its tests."""
    internal = {f"HANDRAIL_{name}" for name in ("AGENT_CALL", "AGENT_CHILD", "CHILD", "DEBUGGABLE", "REAL_CLI")}
    read = {name for path in modules() for name in re.findall(r'"(HANDRAIL_[A-Z_]+)"', path.read_text())}
    listed = set(re.findall(r"`(HANDRAIL_[A-Z_]+)`", (ROOT / "docs" / "configuration.md").read_text()))
    assert listed == read - internal


def test_options_page_describes_every_option():
    text = (ROOT / "docs" / "guides" / "options.md").read_text()
    assert [name for name in Options.__struct_fields__ if f"`{name}`" not in text] == []


def test_architecture_page_lists_every_package():
    text = (ROOT / "docs" / "architecture.md").read_text()
    packages = [path.parent.name for path in PACKAGE.glob("*/__init__.py")]
    assert [name for name in packages if f"{name}/" not in text] == []
