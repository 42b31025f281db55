"""The built-in tools by name, and the default set for each model."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

from handrail.agent.known_models import DEMO_MODEL
from handrail.agent.tools.base import Tool

__all__ = ["Tools", "default_tools", "generation_of"]

_MODULES: Final = {
    "AskUserQuestion": "ask_user_question",
    "Bash": "bash",
    "Edit": "edit",
    "EnterPlanMode": "plan_mode",
    "EnterWorktree": "enter_worktree",
    "ExitPlanMode": "plan_mode",
    "ExitWorktree": "exit_worktree",
    "Glob": "glob",
    "Grep": "grep",
    "Monitor": "monitor",
    "NotebookEdit": "notebook_edit",
    "Read": "read",
    "SendMessage": "send_message",
    "StructuredOutput": "structured_output",
    "TaskCreate": "task_list",
    "TaskGet": "task_list",
    "TaskList": "task_list",
    "TaskStop": "task_stop",
    "TaskUpdate": "task_list",
    "TodoWrite": "todo_write",
    "WebFetch": "web_fetch",
    "WebSearch": "web_search",
    "Write": "write",
}
_SEARCH_TOOLS: Final = frozenset({"Glob", "Grep"})
"""Offered only without Bash, which can search too."""
_TASK_TOOLS: Final = frozenset({"TaskCreate", "TaskGet", "TaskList", "TaskUpdate"})
_ON_DEMAND: Final = frozenset({"StructuredOutput", "TodoWrite"})
_WITHOUT_TASK_TOOLS: Final = 5
"""Models of this generation and later manage without the task list."""


class Tools(Mapping[str, Tool[Any]]):
    """All built-in tools and `more`, by name, in the order in which hosts list them. Imported on first access."""

    def __init__(self, *more: Tool[Any]) -> None:
        self._loaded: dict[str, Tool[Any]] = {tool.name: tool for tool in more}
        self._names = dict.fromkeys((*_MODULES, *self._loaded))

    def __getitem__(self, name: str) -> Tool[Any]:
        if name not in self._loaded:
            module = import_module(f"handrail.agent.tools.{_MODULES[name]}")
            self._loaded[name] = getattr(module, name)()
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def default_tools(model: str, *, disallowed: Collection[str] = ()) -> tuple[str, ...]:
    """Names of the tools that a model gets by default. Imports none of them."""
    if model == DEMO_MODEL:  # its tour shows all of them
        return tuple(name for name in _MODULES if name not in {*disallowed, "StructuredOutput"})
    left_out = set(disallowed) | _ON_DEMAND
    if "Bash" not in left_out:
        left_out |= _SEARCH_TOOLS
    if generation_of(model) >= _WITHOUT_TASK_TOOLS:
        left_out |= _TASK_TOOLS
    return tuple(name for name in _MODULES if name not in left_out)


@lru_cache(maxsize=16)
def generation_of(model: str) -> int:
    """The first number in a model's name. A name without a number counts as current."""
    found = re.search(r"-(\d{1,2})(?:\D|$)", model)
    return int(found[1]) if found else _WITHOUT_TASK_TOOLS
