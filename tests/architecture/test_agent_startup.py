"""The agent imports modules that only some sessions need after it has answered initialize."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = ("httpx2", "mcp", "rich", "typer", "starlette", "uvicorn", "tree_sitter", "anyio", "handrail.client")
LATER = ("handrail.permissions.bash.judge", "handrail.agent.tools.web_fetch", "handrail.agent.tools.bash")
INITIALIZE = b'{"type":"control_request","request_id":"1","request":{"subtype":"initialize"}}\n'
SERVE = """
import sys
from handrail.agent.main import main
code = main(["-p", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"])
print(code, *sorted(sys.modules), file=sys.stderr)
"""


def modules_after(code: str, folder: Path, *, given: bytes = b"") -> tuple[bytes, list[str]]:
    """Run code in a new process; returns its standard output and the words of its standard error."""
    done = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, cwd=folder, timeout=120)
    return done.stdout, done.stderr.decode().split()


def test_the_executable_imports_nothing_heavy(tmp_path: Path):
    _, loaded = modules_after("import sys, handrail.agent.main; print(*sys.modules, file=sys.stderr)", tmp_path)
    assert "handrail.agent.main" in loaded
    assert [name for name in (*HEAVY, *LATER, "asyncio", "msgspec") if name in loaded] == []


def test_nothing_heavy_is_loaded_until_initialize_is_answered(tmp_path: Path, own_home: Path):
    printed, (code, *loaded) = modules_after(SERVE, tmp_path, given=INITIALIZE)
    assert (code, b'"subtype":"success"' in printed) == ("0", True)
    assert "handrail.agent.engine" in loaded
    assert [name for name in (*HEAVY, *LATER) if name in loaded] == []
