"""All tools. In: nothing, or a model. Out: the tools by name, and which of them the model is given unless told."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from importlib import import_module
from typing import Any, Final

from handrail.agent.models.prices import SCRIPT_MODEL
from handrail.agent.tools.base import Tool

__all__ = ["Tools", "all_tools", "default_tools"]

_MODULES: Final = {
    "AskUserQuestion": "ask_user_question",
    "Bash": "bash",
    "Edit": "edit",
    "EnterPlanMode": "plan_mode",
    "ExitPlanMode": "plan_mode",
    "Glob": "glob",
    "Grep": "grep",
    "NotebookEdit": "notebook_edit",
    "Read": "read",
    "StructuredOutput": "structured_output",
    "TaskCreate": "task_list",
    "TaskGet": "task_list",
    "TaskList": "task_list",
    "TaskUpdate": "task_list",
    "TodoWrite": "todo_write",
    "WebFetch": "web_fetch",
    "WebSearch": "web_search",
    "Write": "write",
}
_SEARCHES: Final = frozenset({"Glob", "Grep"})
"""Only where there is no Bash to search with."""
_TASKS: Final = frozenset({"TaskCreate", "TaskGet", "TaskList", "TaskUpdate"})
_ON_DEMAND: Final = frozenset({"StructuredOutput", "TodoWrite"})
_NEEDS_NO_LIST: Final = 5
"""Models from this generation on keep their tasks in mind themselves."""


class Tools(Mapping[str, Tool[Any]]):
    """Every tool of this package by its name, and `more`. A tool is loaded when it is first asked for."""

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


def all_tools() -> Tools:
    """Every tool of this package, in the order in which hosts are told of them."""
    return Tools()


def default_tools(model: str, *, disallowed: Collection[str] = ()) -> tuple[str, ...]:
    """The names of the tools that a model is given when nobody asks for others. Imports none of them."""
    if model == SCRIPT_MODEL:  # it shows all that there is
        return tuple(name for name in _MODULES if name not in {*disallowed, "StructuredOutput"})
    left_out = set(disallowed) | _ON_DEMAND
    if "Bash" not in left_out:
        left_out |= _SEARCHES
    if _generation(model) >= _NEEDS_NO_LIST:
        left_out |= _TASKS
    return tuple(name for name in _MODULES if name not in left_out)


def _generation(model: str) -> int:
    """The first number in the name of a model; a name without one is today's."""
    found = re.search(r"-(\d{1,2})(?:\D|$)", model)
    return int(found[1]) if found else _NEEDS_NO_LIST
