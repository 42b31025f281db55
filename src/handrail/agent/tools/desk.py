"""The context of a tool call: folders, environment, files read by the model, and services."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from copy import copy
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from handrail.agent.tools.foreground import Foreground
from handrail.agent.tools.thread_state import ThreadState
from handrail.files.open import refreshed
from handrail.files.resolve import CallPaths, anchors_of, resolve

if TYPE_CHECKING:
    from handrail.cage.hidden import Hidden
    from handrail.permissions.paths.matching import Anchors, Resolved
    from handrail.schema.tool_results import SendMessageResult

__all__ = ["BackgroundTask", "BackgroundTasks", "Desk", "Messages", "Seen", "TaskRun", "Worktree"]

JsonObject = dict[str, Any]


class Seen(Struct, frozen=True):
    """A file as the model last saw it; `whole` if it saw all of it.

    `content` is the hash of its bytes, None if the model was not shown them in this session.
    """

    modified: int
    size: int
    whole: bool = True
    content: int | None = None


class Worktree(Struct, frozen=True):
    """The worktree that a session is in."""

    path: str
    original: str
    """The folder to return to."""
    branch: str = ""
    owned: bool = False
    """Whether this session made it, and may remove it."""
    by_hook: bool = False
    git_folder: str = ""
    """The folder of the repository's data, which is outside of the worktree."""


class TaskRun(Protocol):
    """Passed to the work of a background task."""

    def write(self, data: bytes, /) -> object:
        """Append to the output file."""
        ...

    def tell(self, event: str, /) -> object:
        """Notify the model of an event."""
        ...


class BackgroundTask(Protocol):
    """Work that runs in the background."""

    @property
    def id(self) -> str: ...
    @property
    def output_file(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def command(self) -> str: ...


class BackgroundTasks(Protocol):
    """Runs work in the background."""

    def start(
        self,
        *,
        kind: str,
        description: str,
        call_id: str,
        work: Callable[[Any], Awaitable[tuple[str, str]]],
        command: str = "",
    ) -> BackgroundTask:
        """Start it. `work` returns a status and a summary, and is cancelled to stop it."""
        ...

    def find(self, id: str) -> BackgroundTask | None:
        """The running task with this id."""
        ...

    async def stop(self, id: str, *, by: str) -> BackgroundTask | None:
        """Stop a task, and return it. Returns None if it is not running."""
        ...


class Messages(Protocol):
    """Delivers messages between the conversation and its subagents."""

    def send(self, to: str, message: str, desk: Desk) -> SendMessageResult:
        """Deliver a message of the thread with this desk."""
        ...


SearchWeb = Callable[[str, list[str], list[str]], Awaitable[list[JsonObject]]]
"""Takes a query, the only domains to search and the domains to leave out; returns blocks of the Messages API."""


async def _no_model(prompt: str) -> str:
    return ""


def _ignore(value: object) -> None:
    pass


class AskHooks(Protocol):
    """Runs the hooks of an event that they may refuse. Returns the reason of the hook that does, or ""."""

    async def __call__(self, event: str, **fields: Any) -> str: ...


async def _no_hooks(event: str, **fields: Any) -> str:
    return ""


class WorktreeHooks(Protocol):
    """Runs the hooks of an event about worktrees. Returns the path that they name; None if there are no hooks."""

    async def __call__(self, event: str, **fields: Any) -> str | None: ...


async def _no_worktree_hooks(event: str, **fields: Any) -> str | None:
    return None


async def _no_report(call_id: str, output: str, seconds: float) -> None:
    return None


class Desk:
    """The context in which tools run. `cwd` changes by `cd`; `project` and `worktree` with the worktree.

    call_id        the id of the tool call (each call has its own desk, see `for_call`)
    environment    the environment of child processes
    seen           files that the model has read, by real path
    offered        unread files as they were before the user was asked about the call, by real path
    state          what tools keep between calls
    foreground     running calls that can be moved to the background
    before_change  called with the path of a file before it is changed (checkpoints)
    ask_model      asks the model outside the conversation
    search_web     searches the web with the API; None if the model cannot
    tasks          background tasks; None if nothing can run in the background
    messages       delivers messages to subagents; None if there are none
    agent_id       the id of the subagent that runs the call; "" for the main conversation
    set_plan_mode  enters or leaves plan mode
    is_planning    whether the session is in plan mode
    may_read       whether a resolved file may be read without asking
    reads_first    whether the model must read files before it changes them
    paths          the paths of the call; the permission is decided on them, and the tool opens them
    results_folder the folder for output too large for the conversation; "" for none
    output_folders lists the folders of the session's own tool output, which any command may read; the thread sets it
    plans_folder   the folder for plans; "" for none
    sandbox        the `sandbox` setting
    caged          the command of this call is allowed only because it reads: it runs in the cage, if there is one
    hidden_files   the files that rules deny reading
    private_addresses  whether WebFetch may reach private networks
    ask_hooks      runs hooks that may refuse a change of a task; the thread sets it
    report_output  sends the host the newest output of a running call; the thread sets it
    worktree_hooks runs the hooks that make or remove worktrees; the thread sets it
    worktree       the worktree that the session is in; None in the original folder
    worktree_problem  says why no worktree may be entered now, or ""
    worktrees_from_head  whether branches of new worktrees begin at HEAD
    use_folder     makes a folder the working folder for permissions; "" for the original one
    """

    def __init__(
        self,
        cwd: str,
        *,
        home: str = "",
        additional: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
        tasks: BackgroundTasks | None = None,
        messages: Messages | None = None,
        before_change: Callable[[str], None] = _ignore,
        ask_model: Callable[[str], Awaitable[str]] = _no_model,
        search_web: SearchWeb | None = None,
        set_plan_mode: Callable[[bool], None] = _ignore,
        is_planning: Callable[[], bool] = lambda: True,
        may_read: Callable[[Resolved], bool] = lambda resolved: True,
        reads_first: Callable[[], bool] = lambda: False,
        results_folder: str = "",
        plans_folder: str = "",
        sandbox: Any = None,
        private_addresses: bool = False,
        hidden_files: Callable[[], Hidden | None] = lambda: None,
        worktree_problem: Callable[[], str] = lambda: "",
        use_folder: Callable[[str], None] = _ignore,
        worktrees_from_head: bool = False,
    ) -> None:
        self.project = cwd
        self.cwd = cwd
        self.home = home
        self.additional = additional
        self.environment = environment if environment is not None else {}
        self.seen: dict[str, Seen] = {}
        self.offered: dict[str, Seen | None] = {}
        self.state = ThreadState()
        self.foreground = Foreground()
        self.call_id = ""
        self.tasks, self.messages = tasks, messages
        self.agent_id = ""
        self.before_change = before_change
        self.ask_model = ask_model
        self.search_web = search_web
        self.set_plan_mode, self.is_planning = set_plan_mode, is_planning
        self.may_read, self.reads_first = may_read, reads_first
        self.results_folder, self.plans_folder = results_folder, plans_folder
        self.sandbox, self.private_addresses = sandbox, private_addresses
        self.ask_hooks: AskHooks = _no_hooks
        self.worktree_hooks: WorktreeHooks = _no_worktree_hooks
        self.report_output: Callable[[str, str, float], Awaitable[None]] = _no_report
        self.output_folders: Callable[[], tuple[str, ...]] = tuple
        self.worktree: Worktree | None = None
        self.worktree_problem, self.use_folder = worktree_problem, use_folder
        self.worktrees_from_head = worktrees_from_head
        self.caged = False
        self.hidden_files = hidden_files
        self.paths: CallPaths | None = None

    @property
    def git_folder(self) -> str:
        """The folder with the data of the repository, if the session is in a worktree of it; else ""."""
        return self.worktree.git_folder if self.worktree else ""

    def for_call(self, call_id: str) -> Desk:
        """The desk of one call. It shares `seen` and `state` with the other calls of its thread."""
        desk = copy(self)
        desk.call_id, desk.paths, desk.offered = call_id, CallPaths(self.anchors()), {}
        return desk

    def for_subagent(self, agent_id: str) -> Desk:
        """The desk of another thread: nothing seen or kept yet, without plan mode, and with the same limits."""
        desk = copy(self)
        desk.agent_id = agent_id
        desk.seen, desk.state, desk.foreground = {}, ThreadState(), Foreground()
        desk.set_plan_mode, desk.plans_folder = _ignore, ""
        return desk

    def take_over(self, desk: Desk) -> None:
        """Continue in the folder where a call ended."""
        self.cwd, self.project, self.worktree = desk.cwd, desk.project, desk.worktree

    def anchors(self) -> Anchors:
        """The folders that paths are relative to."""
        return anchors_of(self.cwd, project=self.project, home=self.home, additional=self.additional)

    def absolute(self, path: str) -> str:
        """The absolute path that a path of a call means, without `..`."""
        path = path.strip()
        if path == "~" or path.startswith("~/"):
            path = self.anchors().home + path[1:]
        return "/" + os.path.normpath(os.path.join(self.cwd, path)).lstrip("/")

    def resolve(self, path: str) -> Resolved:
        """The file that a path of this call means. Raises FileError if the path leads elsewhere by now."""
        if self.paths is None:  # nothing was decided yet
            return resolve(path, self.anchors())
        return refreshed(self.paths.resolve(path))
