"""A desk on a real disk, and a fake runner of background tasks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from handrail.agent.tools.base import Outcome, Tool
from handrail.agent.tools.desk import Desk
from handrail.agent.tools.registry import Tools


class Run:
    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)


class BackgroundTask:
    def __init__(self, id: str, output_file: str) -> None:
        self.id, self.output_file = id, output_file


class Background:
    """Records the started tasks, so that tests can await or cancel them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tasks: list[asyncio.Task[tuple[str, str]]] = []

    def start(
        self,
        *,
        kind: str,
        description: str,
        call_id: str,
        work: Callable[[Any], Awaitable[tuple[str, str]]],
        command: str = "",
    ) -> BackgroundTask:
        assert kind == "local_bash"
        assert command
        path = self.folder / f"{len(self.tasks)}.output"

        async def run() -> tuple[str, str]:
            return await work(Run(path))

        self.tasks.append(asyncio.create_task(run()))
        return BackgroundTask(f"b{len(self.tasks)}", str(path))


def fill(path: Path, data: str | bytes) -> None:
    """Write a file."""
    path.write_bytes(data if isinstance(data, bytes) else data.encode())


def bytes_in(path: str | Path) -> bytes:
    """Read a file."""
    return Path(path).read_bytes()


def text_in(path: str | Path) -> str:
    """Read a text file without converting line ends."""
    return bytes_in(path).decode()


def mode_of(path: str | Path) -> int:
    """The permission bits of a file."""
    return Path(path).stat().st_mode & 0o777


def desk_in(folder: Path, **given: Any) -> Desk:
    """A desk in a new project, with a results folder next to it."""
    project = folder / "project"
    project.mkdir(exist_ok=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    return Desk(
        str(project),
        home=str(folder),
        **{"environment": environment, "results_folder": str(folder / "results"), **given},
    )


async def call(desk: Desk, name: str, /, *, tool: Tool[Any] | None = None, **given: Any) -> Outcome:
    """Call a tool the way the model does."""
    chosen = tool or Tools()[name]
    async with asyncio.timeout(20):
        return await chosen.run(chosen.read(given), desk)
