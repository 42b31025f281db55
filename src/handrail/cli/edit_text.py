"""Lets a person change a text in their editor."""

from __future__ import annotations

import asyncio
import os
import shlex
import tempfile
from pathlib import Path

__all__ = ["edit_text"]


async def edit_text(text: str, editor: str, *, suffix: str = ".json") -> str | None:
    """Edit it. Returns the saved text; None if the editor could not be run."""
    # Only the owner can read it: what is edited may hold anything.
    handle, path = tempfile.mkstemp(prefix="handrail-", suffix=suffix)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        try:
            process = await asyncio.create_subprocess_exec(*shlex.split(editor), path)
        except (OSError, ValueError):
            return None
        return _saved(path) if await process.wait() == 0 else None
    except OSError:
        return None
    finally:
        os.unlink(path)


def _saved(path: str) -> str:
    return Path(path).read_text(encoding="utf-8", errors="replace").strip()
