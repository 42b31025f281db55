"""The names that `handrail` exports exist, have docstrings and are imported lazily."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from collections.abc import Callable

import pytest

import handrail
from handrail.schema import content
from handrail.schema.messages import MESSAGES

HEAVY = ["anyio", "httpx2", "trio", "mcp", "pydantic", "rich", "starlette", "typer", "uvicorn", "websockets"]
EXPORTS = sorted(getattr(handrail, "__all__", []))


def test_the_package_exports_the_session():
    assert "Session" in EXPORTS


def test_every_message_and_content_block_is_exported():
    blocks = {name for name in content.__all__ if name.endswith("Block")}
    messages = {view.__name__ for view in MESSAGES.values()}
    assert sorted((blocks | messages) - set(EXPORTS)) == []


def test_no_name_is_exported_twice():
    assert len(EXPORTS) == len(set(EXPORTS))


def test_every_exported_class_and_function_has_a_docstring():
    values = {name: getattr(handrail, name) for name in EXPORTS}
    documented = {name: value for name, value in values.items() if inspect.isclass(value) or inspect.isroutine(value)}
    assert [name for name, value in documented.items() if not has_docstring(value)] == []


def has_docstring(value: type | Callable[..., object]) -> bool:
    """Whether the docstring was written by hand; a dataclass without one gets its signature as docstring."""
    text = (value.__doc__ or "").strip()
    return bool(text) and not text.startswith(f"{value.__name__}(")


def test_dir_shows_every_exported_name():
    assert set(EXPORTS) <= set(dir(handrail))


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = getattr(importlib.import_module("handrail"), "no_such_name")  # noqa: B009


@pytest.mark.parametrize(
    "statement",
    [
        "import handrail",
        "import handrail; handrail.Session",
        "import handrail; handrail.query",
        "import handrail.cli",
        "from handrail.claude_agent_sdk import *",
        "import handrail.claude_agent_sdk.types",
    ],
)
def test_imports_load_no_heavy_modules(statement: str):
    program = f"{statement}\nimport sys\nprint(*sorted(set(sys.modules) & {set(HEAVY)!r}))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout.strip(), run.stderr) == (0, "", "")
