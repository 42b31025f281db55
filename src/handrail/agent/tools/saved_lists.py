"""Task lists, and task and todo lists on disk in the layout of the CLI, so that they survive a resume.

    <home>/tasks/<session>/<number>.json        one task
    <home>/tasks/<session>/.highwatermark       the highest number, if its task was deleted
    <home>/todos/<session>-agent-<session>.json the list of TodoWrite

Files are readable by their owner only. Files that cannot be read are skipped: they may come from another version.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from handrail.agent.record.journal import make_private
from handrail.files.errors import FileError
from handrail.files.open import Root

__all__ = ["SavedLists", "SharedTask", "SharedTasks"]

JsonObject = dict[str, Any]
MOST_TASKS: Final = 1000
LARGEST: Final = 1024 * 1024
_SESSION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_TASK: Final = re.compile(r"([1-9][0-9]{0,8})\.json")
_HIGHEST: Final = ".highwatermark"


class SharedTask(Struct, rename="camel"):
    """One task."""

    id: str
    subject: str
    description: str
    active_form: str = ""
    status: str = "pending"
    owner: str = ""
    blocks: list[str] = field(default_factory=list[str])
    blocked_by: list[str] = field(default_factory=list[str])
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


class SharedTasks(Struct):
    """The task list of a conversation. `made` is the highest number so far; numbers are never reused."""

    made: int = 0
    by_id: dict[str, SharedTask] = field(default_factory=dict[str, SharedTask])


class SavedLists:
    """The lists of one session."""

    def __init__(self, home: str, session_id: str) -> None:
        self._home, self._session = home, session_id
        self._usable = _SESSION.fullmatch(session_id) is not None
        self._warned = False

    def of(self, session_id: str) -> SavedLists:
        """The lists of another session."""
        return SavedLists(self._home, session_id)

    @property
    def _tasks(self) -> Path:
        return Path(self._home, "tasks", self._session)

    @property
    def _todos(self) -> Path:
        return Path(self._home, "todos", f"{self._session}-agent-{self._session}.json")

    def read_tasks(self) -> SharedTasks | None:
        """The tasks; None without a saved list."""
        if not self._usable:
            return None
        tasks = SharedTasks()
        with contextlib.suppress(FileError, OSError), Root(str(self._tasks)) as root:
            names = sorted(name for name in os.listdir(self._tasks) if _TASK.fullmatch(name))
            for name in sorted(names, key=lambda name: int(name.partition(".")[0]))[:MOST_TASKS]:
                with contextlib.suppress(FileError, OSError, msgspec.MsgspecError):
                    data = root.read(name, limit=LARGEST, follow_links=False)
                    task = msgspec.json.decode(data, type=SharedTask)
                    if f"{task.id}.json" == name:
                        tasks.by_id[task.id] = task
            tasks.made = max((int(id) for id in tasks.by_id), default=0)
            with contextlib.suppress(FileError, ValueError):
                tasks.made = max(tasks.made, int(root.read(_HIGHEST, limit=20, follow_links=False)))
        return tasks if tasks.made else None

    def read_todos(self) -> list[JsonObject]:
        """The todos; empty without a saved list."""
        if self._usable:
            with contextlib.suppress(FileError, OSError, msgspec.MsgspecError), Root(str(self._todos.parent)) as root:
                data = root.read(self._todos.name, limit=LARGEST, follow_links=False)
                return msgspec.json.decode(data, type=list[JsonObject])
        return []

    def write_tasks(self, tasks: SharedTasks) -> None:
        """Write all tasks, and delete the files of deleted ones."""
        files = {f"{task.id}.json": _encoded(task) for task in tasks.by_id.values()}
        highest = {} if str(tasks.made) in tasks.by_id else {_HIGHEST: str(tasks.made).encode()}
        if self._write(self._tasks, {**files, **highest}):
            with contextlib.suppress(OSError):
                for name in os.listdir(self._tasks):
                    if _TASK.fullmatch(name) and name not in files:
                        os.unlink(self._tasks / name)

    def write_todos(self, todos: list[JsonObject]) -> None:
        """Write the whole list."""
        self._write(self._todos.parent, {self._todos.name: msgspec.json.encode(todos)})

    def _write(self, folder: Path, files: dict[str, bytes]) -> bool:
        """Write files. A failure is reported once, and the session continues without them."""
        if not self._usable:
            return False
        try:
            make_private(folder)
            with Root(str(folder)) as root:
                for name, data in files.items():
                    root.write(name, data, follow_links=False, mode=0o600)
        except (FileError, OSError) as error:
            if not self._warned:
                print(f"The task list is not saved in {folder}: {error}", file=sys.stderr, flush=True)
            self._warned = True
            return False
        return True


def _encoded(task: SharedTask) -> bytes:
    """A task as the CLI writes it: fields that are not set are left out."""
    unset = ("activeForm", "owner", "metadata")
    fields = {name: value for name, value in msgspec.to_builtins(task).items() if value or name not in unset}
    return msgspec.json.format(msgspec.json.encode(fields), indent=2)
