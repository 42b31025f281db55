"""TodoWrite: the list of things to do. In: the whole list. Out: the list before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from handrail.agent.tools.base import Outcome, Tool

if TYPE_CHECKING:
    from handrail.agent.desk import Desk

__all__ = ["Todo", "TodoWrite", "TodoWriteInput"]


class Todo(Struct, frozen=True, rename="camel"):
    """One thing to do."""

    content: Annotated[str, Meta(min_length=1, description="What to do: `Run the tests`.")]
    status: Literal["pending", "in_progress", "completed"]
    active_form: Annotated[str, Meta(min_length=1, description="The same while it is done: `Running the tests`.")]


class TodoWriteInput(Struct, frozen=True):
    """The list as it shall be from now on."""

    todos: list[Todo]


class TodoWrite(Tool[TodoWriteInput]):
    """Keeps a list of things to do."""

    name = "TodoWrite"
    description = (
        "Keeps a list of things to do for work of several steps; the user sees it. Give the whole list each time, "
        "with one thing in progress at a time, and mark what is done at once."
    )
    Input = TodoWriteInput

    async def run(self, given: TodoWriteInput, desk: Desk) -> Outcome:
        new = msgspec.to_builtins(given.todos)
        old = desk.notes.get("todos", [])
        desk.notes["todos"] = [] if all(todo.status == "completed" for todo in given.todos) else new
        return Outcome(
            "The list of todos was changed. Keep it up to date while you go on with what is in progress.",
            {"oldTodos": old, "newTodos": new},
        )
