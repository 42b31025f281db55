"""What a cage allows, and the interface that starts commands in one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from handrail.errors import MachineError

__all__ = ["CageError", "Caged", "Guard", "Limits", "Start"]


class CageError(MachineError):
    """A command could not be started in the cage. It has not run."""


class Limits(Struct, frozen=True):
    """What a command in the cage may do. Everything else is refused.

    read      files and folders to read and execute
    names     folders of which, and below which, only the names are listed
    write     folders to read and change
    devices   files to read and write
    network   sockets are allowed
    builds    modes, owners, times and attributes of files may be changed, as builds do
    """

    read: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    network: bool = False
    builds: bool = False


class Start(Struct, frozen=True):
    """A command to start: `output` is its stdout and stderr, `inherited` are descriptors that it keeps."""

    argv: Sequence[str]
    cwd: str
    environment: Mapping[str, str]
    output: int
    inherited: tuple[int, ...] = ()


class Caged(Protocol):
    """A command that runs in a cage."""

    @property
    def pid(self) -> int:
        """Its process id, which is also its process group."""
        ...

    async def wait(self) -> int:
        """Wait until it exits. Returns the exit code, -N after signal N."""
        ...

    def end_all(self) -> bool:
        """Kill every process that is left after the command has exited. Returns whether that has reached all."""
        ...


class Guard(Protocol):
    """One way to build a cage."""

    name: str
    """What `handrail doctor` calls it."""

    def problem(self) -> str:
        """Why this machine cannot build a cage, or ""."""
        ...

    def detail(self) -> str:
        """What `handrail doctor` adds to the name, such as a version; begins with a space."""
        ...

    async def start(self, start: Start, limits: Limits, *, witness: int = 0) -> Caged:
        """Start a command. Raises CageError if the guard refuses, and OSError if the program cannot be started.

        `witness` is the id of a process outside the cage that this process may signal. Without one, `end_all` of the
        command is not certain to reach all of its processes.
        """
        ...
