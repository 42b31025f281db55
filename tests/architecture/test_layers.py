"""Each layer imports only what is below it, and the pure layers do no input or output."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.repository import PACKAGE, ROOT, modules, name_of, tree_of

PURE = ("protocol", "schema", "permissions")
IMPURE_CALLS = {"open", "print", "input", "now", "utcnow", "today", "getenv"}


def test_pure_modules_never_await_and_use_nothing_outside_the_process():
    found = [
        f"{name_of(path)}:{node.lineno}: {ast.unparse(node).splitlines()[0]}"
        for path in modules()
        if path.relative_to(PACKAGE).parts[0] in PURE
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith)
        or (isinstance(node, ast.Call) and called_name(node) in IMPURE_CALLS)
    ]
    assert found == []


def called_name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def test_no_module_imports_names_from_the_package_itself():
    """`from handrail import Session` inside the package would bypass every layer."""
    found = [
        f"{name_of(path)}:{node.lineno}: {ast.unparse(node)}"
        for path in modules()
        for node in ast.walk(tree_of(path))
        if (isinstance(node, ast.ImportFrom) and node.module == "handrail" and not names_packages(node))
        or (isinstance(node, ast.Import) and any(alias.name == "handrail" for alias in node.names))
    ]
    assert found == []


def names_packages(node: ast.ImportFrom) -> bool:
    return all((PACKAGE / alias.name).is_dir() for alias in node.names)


SCRIPTS = {"src/handrail/transport/guardian.py", "src/handrail/agent/tools/adopt_orphans.py"}
"""Run by path, with the standard library alone."""


def test_only_the_platform_module_asks_for_the_system():
    asking = {
        name_of(path)
        for path in modules()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.platform", "os.name")
    }
    assert asking == {"src/handrail/platform.py", *SCRIPTS}


def test_no_part_of_the_agent_imports_the_engine():
    """Only `start` does, which creates it."""
    named = "handrail.agent.engine"
    found = {
        name_of(path)
        for path in (PACKAGE / "agent").rglob("*.py")
        for node in ast.walk(tree_of(path))
        if (isinstance(node, ast.ImportFrom) and node.module == named)
        or (isinstance(node, ast.Import) and any(alias.name == named for alias in node.names))
    }
    assert found == {name_of(PACKAGE / "agent" / "start.py")}


CYCLES = {
    "two modules of one package": ("bridge/web/http/left_1.py", "bridge/web/http/right_1.py", ".left_1", ".right_1"),
    "two packages": ("bridge/session/left_2.py", "bridge/commands/right_2.py", ".session", ".commands"),
    "a module and a package beside it": ("bridge/web/left_3.py", "bridge/web/http/right_3.py", ".left_3", ".http"),
    "two packages of the agent": ("agent/tools/left_4.py", "agent/conversation/right_4.py", ".tools", ".conversation"),
    "two modules of the agent": ("agent/mcp/left_5.py", "agent/mcp/right_5.py", ".left_5", ".right_5"),
}


@pytest.mark.parametrize("only_types", [False, True], ids=["imported", "imported for types"])
def test_lint_imports_reports_each_cycle(tmp_path: Path, only_types: bool):
    shutil.copytree(PACKAGE, tmp_path / "handrail", ignore=shutil.ignore_patterns("page", "__pycache__"))
    for *places, _, _ in CYCLES.values():
        names = [f"handrail.{place.removesuffix('.py').replace('/', '.')}" for place in places]
        for place, imported in zip(places, reversed(names), strict=True):
            lines = f"if TYPE_CHECKING:\n    import {imported}\n" if only_types else f"import {imported}\n"
            head = "from __future__ import annotations\nfrom typing import TYPE_CHECKING\n"
            (tmp_path / "handrail" / place).write_text(f'"""A cycle."""\n{head}{lines}')
    configuration = ROOT / "pyproject.toml"
    run = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo", "--config", configuration],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1
    reported = {
        kind: f"- {one} -> {other} " in run.stdout or f"- {other} -> {one} " in run.stdout
        for kind, (*_, one, other) in CYCLES.items()
    }
    assert reported == dict.fromkeys(CYCLES, True), run.stdout
