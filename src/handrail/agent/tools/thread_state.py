"""The state that the tools of one thread keep between calls: todos, tasks, the plan, the structured answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from handrail.agent.tools.saved_lists import SavedLists, SharedTasks

__all__ = ["ThreadState"]

JsonObject = dict[str, Any]


class ThreadState:
    """The state of one thread. `lists` saves its lists; None if they are not saved."""

    def __init__(self, lists: SavedLists | None = None) -> None:
        self.todos: list[JsonObject] = []
        self.tasks = SharedTasks()
        self.plan_file = ""
        self.structured_output: Any = None
        self.loaded_tools: dict[str, None] = {}
        """The names of the tools that ToolSearch has loaded, in that order."""
        self.lists = lists

    def resume(self, session_id: str, messages: Iterable[JsonObject]) -> None:
        """Continue with the lists and tools of an earlier session, which may be this one. `messages`: those of it."""
        self.loaded_tools = _loaded_tools(messages)
        if self.lists is not None:
            earlier = self.lists.of(session_id)
            self.todos = earlier.read_todos() or _last_todos(messages)
            self.tasks = earlier.read_tasks() or SharedTasks()

    def start_over(self, session_id: str) -> None:
        """Start with empty lists under another session id."""
        self.__init__(self.lists and self.lists.of(session_id))

    def save_todos(self) -> None:
        """Save the todos."""
        if self.lists is not None:
            self.lists.write_todos(self.todos)

    def save_tasks(self) -> None:
        """Save the tasks."""
        if self.lists is not None:
            self.lists.write_tasks(self.tasks)


def _loaded_tools(messages: Iterable[JsonObject]) -> dict[str, None]:
    """The tools that results of ToolSearch name."""
    blocks = (block for message in messages for block in cast("list[JsonObject]", message["content"]))
    found: dict[str, None] = {}
    for block in blocks:
        content: Any = block.get("content") if block.get("type") == "tool_result" else None
        for part in cast("list[JsonObject]", content) if isinstance(content, list) else ():
            if part.get("type") == "tool_reference":
                found[str(part.get("tool_name"))] = None
    return found


def _last_todos(messages: Iterable[JsonObject]) -> list[JsonObject]:
    """The list of the last TodoWrite call: the CLI saves it in the conversation alone."""
    found: list[JsonObject] = []
    for message in messages:
        for block in cast("list[JsonObject]", message["content"]):
            if block.get("type") == "tool_use" and block.get("name") == "TodoWrite":
                given: Any = cast("JsonObject", block.get("input") or {}).get("todos")
                items = cast("list[Any]", given) if isinstance(given, list) else []
                found = [cast("JsonObject", item) for item in items if isinstance(item, dict)]
    return [] if all(todo.get("status") == "completed" for todo in found) else found
