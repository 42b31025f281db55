"""What a tool works with: where it stands, what it may start, what it has seen. One per thread of the conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from copy import copy
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from handrail.files.resolve import anchors_of, resolve

if TYPE_CHECKING:
    from handrail.agent.tasks import Tasks
    from handrail.permissions.paths import Anchors, Resolved

__all__ = ["Desk", "Seen"]

JsonObject = dict[str, Any]


class Seen(Struct, frozen=True):
    """A file as the model last saw it: when it was changed, and whether it saw all of it."""

    modified: int
    size: int
    whole: bool = True


async def _no_model(prompt: str) -> str:
    return ""


def _no_change(path: str) -> None:
    pass


LIMITS = ("sandbox", "allow_private_addresses", "web_search")
"""Notes that come from the settings and hold for every thread."""


class Desk:
    """Where tools work. `cwd` moves with `cd`; everything else stays.

    call_id        the id of the tool use that runs (each call gets its own desk by `for_call`)
    environment    variables for children
    seen           files the model has read, by real path; shared by all calls of a thread
    before_change  is told of every file just before it is changed (checkpoints)
    ask_model      one question to the model on the side, without tools
    tasks          what runs in the background
    notes          what tools keep between calls: todo and task lists, plans
    """

    def __init__(
        self,
        cwd: str,
        *,
        home: str = "",
        additional: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
        tasks: Tasks | None = None,
        before_change: Callable[[str], None] = _no_change,
        ask_model: Callable[[str], Awaitable[str]] = _no_model,
        results_folder: str = "",
        may_read: Callable[[str], bool] = lambda path: True,
    ) -> None:
        self.project = cwd
        self.cwd = cwd
        self.home = home
        self.additional = additional
        self.environment = environment if environment is not None else {}
        self.seen: dict[str, Seen] = {}
        self.notes: dict[str, Any] = {}
        self.call_id = ""
        self.tasks = tasks
        self.before_change = before_change
        self.ask_model = ask_model
        self.may_read = may_read
        """May this file be read without asking?"""
        self.results_folder = results_folder
        """Where an output goes that is too large for the conversation; nowhere if empty."""

    def for_call(self, call_id: str) -> Desk:
        """The desk of one call: what it has seen and noted is shared."""
        desk = copy(self)
        desk.call_id = call_id
        return desk

    def for_subagent(self) -> Desk:
        """The desk of a thread of its own: it has seen and noted nothing yet, but the same limits hold."""
        desk = copy(self)
        desk.seen = {}
        desk.notes = {name: self.notes[name] for name in LIMITS if name in self.notes}
        return desk

    def take_over(self, desk: Desk) -> None:
        """Where a call has left off, the next one begins."""
        self.cwd = desk.cwd

    def anchors(self) -> Anchors:
        """Where paths begin, as things stand."""
        return anchors_of(self.cwd, project=self.project, home=self.home, additional=self.additional)

    def resolve(self, path: str) -> Resolved:
        """What the disk says about a path."""
        return resolve(path, self.anchors())
