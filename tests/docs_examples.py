"""Runs the Python examples of one page of the documentation: `python -m tests.docs_examples PAGE`, in an empty folder.

The blocks of a page share their names, as a reader would type them one after the other. `await` works at the top level.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

PREAMBLES = {
    "conform.md": """
from handrail.conform.bench import Bench
from handrail.conform.check import check, expect
from handrail.conform.lines import sent_text
from handrail.testing import text
""",
    "permissions.md": "checked = str",
    "session-store.md": "open_new = None",
    "testing.md": "import pathlib\ntmp_path = pathlib.Path.cwd()",
}
"""Names that a page leaves to its reader."""


def blocks(page: Path) -> list[str]:
    """The Python examples of a page."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def run_page(page: Path) -> int:
    """Run the blocks of a page. Returns their number."""
    module = types.ModuleType("__main__")
    names: dict[str, Any] = module.__dict__
    sys.modules["__main__"] = module  # types of functions are looked up in their module
    exec("import handrail, pytest\n" + PREAMBLES.get(page.name, ""), names)
    runnable = blocks(page)
    for number, block in enumerate(runnable):
        run: Callable[[], Any] = types.FunctionType(compiled(block, f"{page.name}[{number}]"), names)
        outcome = run()
        if inspect.iscoroutine(outcome):
            asyncio.run(outcome)
    return len(runnable)


def compiled(block: str, name: str) -> types.CodeType:
    return compile(block, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


if __name__ == "__main__":
    print("\nran", run_page(Path(sys.argv[1])))
