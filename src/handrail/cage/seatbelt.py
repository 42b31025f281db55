"""The cage on macOS: a Seatbelt profile, applied by `sandbox-exec`.

Apple calls the program deprecated, but no other way lets an ordinary user confine a command. Seatbelt cannot end the
processes of a cage as a whole, so they are found by their mark.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from typing import Final

from handrail.cage.base import CageError, Limits, Start
from handrail.files.resolve import real_path

__all__ = ["SeatbeltCaged", "SeatbeltGuard", "profile"]

_PROGRAM: Final = "/usr/bin/sandbox-exec"
_BEGINNING: Final = """\
(version 1)
(deny default)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow file-read-metadata)
(allow file-ioctl (literal "/dev/null"))
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow mach-lookup (global-name "com.apple.system.notification_center"))
(allow mach-lookup (global-name "com.apple.logd"))
"""


def profile(limits: Limits) -> str:
    """The limits in Seatbelt's language. Later lines win over earlier ones."""
    return _BEGINNING + "".join(f"{line}\n" for line in _lines(limits))


def _lines(limits: Limits) -> Iterator[str]:
    for path in limits.read:
        yield f"(allow file-read* process-exec (subpath {_quoted(path)}))"
    for path in limits.names:
        # Reading a folder lists its names, but does not open the files in it.
        yield f"(allow file-read-data (literal {_quoted(path)}))"
    for path in limits.write:
        yield f"(allow file-read* file-write* process-exec (subpath {_quoted(path)}))"
    for path in limits.devices:
        yield f"(allow file-read* file-write-data (literal {_quoted(path)}))"
    if not limits.builds:
        yield "(deny file-write-mode file-write-owner file-write-flags file-write-times file-write-xattr)"
    if limits.network:
        yield "(allow network*)"
        yield "(allow system-socket)"


def _quoted(path: str) -> str:
    """A path as a string of the language. Seatbelt compares real paths: /tmp is /private/tmp there."""
    real = real_path(path)
    return '"' + real.replace("\\", "\\\\").replace('"', '\\"') + '"'


class SeatbeltGuard:
    """Seatbelt."""

    name = "Seatbelt"

    def problem(self) -> str:
        return "" if os.access(_PROGRAM, os.X_OK) else f"{_PROGRAM} is missing"

    def detail(self) -> str:
        return ""

    async def start(self, start: Start, limits: Limits, *, witness: int = 0) -> SeatbeltCaged:
        if problem := self.problem():
            raise CageError(problem)
        process = await asyncio.create_subprocess_exec(
            *(_PROGRAM, "-p", profile(limits), *start.argv),
            cwd=start.cwd,
            env=start.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=start.output,
            stderr=start.output,
            pass_fds=start.inherited,
            start_new_session=True,
        )
        return SeatbeltCaged(process)


class SeatbeltCaged:
    """One command in its cage."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    async def wait(self) -> int:
        return await self._process.wait()

    def end_all(self) -> bool:
        return False
