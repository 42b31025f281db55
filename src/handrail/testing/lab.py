"""Finding the real CLI for tests."""

from __future__ import annotations

import os
from pathlib import Path

from handrail.conform.lab import Lab

__all__ = ["Lab", "real_cli"]

REAL_CLI = "HANDRAIL_REAL_CLI"
REPOSITORY = Path(__file__).resolve().parents[3]


def real_cli() -> Path | None:
    """The path of the real CLI: from HANDRAIL_REAL_CLI, else the copy installed in the repository, else None."""
    if named := os.environ.get(REAL_CLI):
        if not os.access(named, os.X_OK):
            raise FileNotFoundError(f"{REAL_CLI} is {named}, which is not an executable file")
        return Path(named).absolute()
    installed = REPOSITORY / ".interop" / "node_modules" / ".bin" / "claude"
    return installed if os.access(installed, os.X_OK) else None
