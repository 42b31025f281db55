"""TodoWrite: the list of todos."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from handrail.agent.blocks import reminder
from handrail.agent.tools.base import JsonObject, Outcome, Tool

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk

__all__ = ["Todo", "TodoWrite", "TodoWriteInput", "todo_note"]


class Todo(Struct, frozen=True, rename="camel"):
    """One todo."""

    content: Annotated[str, Meta(min_length=1, description="What to do: `Run the tests`.")]
    status: Literal["pending", "in_progress", "completed"]
    active_form: Annotated[str, Meta(min_length=1, description="The same while it is done: `Running the tests`.")]


class TodoWriteInput(Struct, frozen=True):
    """The new list."""

    todos: list[Todo]


class TodoWrite(Tool[TodoWriteInput]):
    """Replaces the list of todos."""

    name = "TodoWrite"
    description = """\
Keeps a list of things to do, which the user sees. Give the whole list each time.

- Use it for work of three or more steps, or if the user gives several things to do; not for a single small step.
- Have exactly one item in progress. Mark an item as completed as soon as it is done and checked, not several at \
the end.
- Do not mark as completed what failed or is partly done; add an item for what stops it."""
    Input = TodoWriteInput

    async def run(self, given: TodoWriteInput, desk: Desk) -> Outcome:
        new = msgspec.to_builtins(given.todos)
        old = desk.state.todos
        desk.state.todos = [] if all(todo.status == "completed" for todo in given.todos) else new
        desk.state.save_todos()
        return Outcome(
            "The list of todos was changed. Keep it up to date while you go on with what is in progress.",
            {"oldTodos": old, "newTodos": new},
        )


def todo_note(todos: list[JsonObject]) -> str:
    """The list as a note to the model, for a conversation that does not show it any more; "" without todos."""
    rows = [f"- {todo.get('content')} ({todo.get('status')})" for todo in todos]
    return reminder("\n".join(["Your list of todos at the moment:", *rows])) if rows else ""
