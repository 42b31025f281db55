"""The NotebookEdit tool: replaces, inserts or deletes a cell of a Jupyter notebook."""

from __future__ import annotations

import json
import re
import secrets
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct

from handrail.agent.tools.base import JsonObject, Outcome, Tool, ToolFailed, explain_file_errors, refused
from handrail.agent.tools.notebook import cells_of, joined, language_of, name_of, parse_notebook
from handrail.agent.tools.text_file import CHANGED, UNREAD, changed_since, missing, put
from handrail.files.open import read_resolved
from handrail.permissions.paths.matching import is_refused

if TYPE_CHECKING:
    from handrail.agent.tools.desk import Desk
    from handrail.permissions.paths.matching import Resolved

__all__ = ["NotebookEdit", "NotebookEditInput"]


class NotebookEditInput(Struct, frozen=True):
    """The cell, and its new source."""

    notebook_path: Annotated[str, Meta(description="Absolute path of the .ipynb file.")]
    new_source: Annotated[str, Meta(description="The new source of the cell.")]
    cell_id: Annotated[
        str | None, Meta(description="The id of the cell; for insert, the cell after which to insert.")
    ] = None
    cell_type: Annotated[Literal["code", "markdown"] | None, Meta(description="Required for insert.")] = None
    edit_mode: Literal["replace", "insert", "delete"] = "replace"


class NotebookEdit(Tool[NotebookEditInput]):
    """Replaces, inserts or deletes a cell."""

    name = "NotebookEdit"
    description = """\
Changes one cell of a Jupyter notebook: replaces its source, inserts a new cell after it (at the beginning without \
`cell_id`), or deletes it. Read the notebook before: it shows the ids of the cells. Outputs of a changed cell are \
cleared."""
    Input = NotebookEditInput
    path_field = "notebook_path"

    def describe(self, given: NotebookEditInput) -> str:
        return given.notebook_path.rpartition("/")[2]

    async def check(self, given: NotebookEditInput, desk: Desk) -> None:
        """Fail before the user is asked. Skipped for unreadable files, whose state the error would reveal."""
        resolved = desk.resolve(given.notebook_path)
        if desk.may_read(resolved) and (problem := _problem(given, resolved, desk)):
            raise ToolFailed(problem)

    async def run(self, given: NotebookEditInput, desk: Desk) -> Outcome:
        resolved = desk.resolve(given.notebook_path)
        if problem := _problem(given, resolved, desk):
            return refused(problem)
        with explain_file_errors():
            data = read_resolved(resolved)
        notebook = parse_notebook(data)
        cells = cells_of(notebook)
        at = _index(given.cell_id, cells)
        if at is None:
            return refused(f'Cell with ID "{given.cell_id}" not found in notebook.')
        name, old_source = _CHANGES[given.edit_mode](given, notebook, at)
        updated = _serialized(notebook)
        put(resolved, updated, desk)
        return _outcome(given, notebook, (data, updated), name, old_source)


def _problem(given: NotebookEditInput, resolved: Resolved, desk: Desk) -> str:
    if not given.notebook_path.endswith(".ipynb"):
        return "File must be a Jupyter notebook (.ipynb file). For editing other file types, use the Edit tool."
    if given.edit_mode == "insert" and given.cell_type is None:
        return "Cell type is required when using edit_mode=insert."
    if given.edit_mode != "insert" and given.cell_id is None:
        return "Cell ID must be specified when not inserting a new cell."
    if resolved.kind == "missing":
        return missing(desk, resolved)
    if resolved.kind == "directory":
        return f"{given.notebook_path} is a directory, not a file."
    if why := is_refused(resolved):
        return f"{given.notebook_path} cannot be edited: {why}."
    seen = desk.seen.get(resolved.real or "")
    if seen is None:
        return UNREAD
    return CHANGED if changed_since(seen, resolved) else ""


def _index(cell_id: str | None, cells: list[JsonObject]) -> int | None:
    """The index of a cell; -1 without an id, None if it is not found."""
    if cell_id is None:
        return -1
    for at, cell in enumerate(cells):
        if cell.get("id") == cell_id:
            return at
    numbered = re.fullmatch(r"cell-(\d{1,6})", cell_id)
    return int(numbered[1]) if numbered and int(numbered[1]) < len(cells) else None


def _replace(given: NotebookEditInput, notebook: JsonObject, at: int) -> tuple[str, str | None]:
    cell = cells_of(notebook)[at]
    old = joined(cell.get("source"))
    cell["source"] = given.new_source
    if given.cell_type:
        cell["cell_type"] = given.cell_type
    if cell.get("cell_type") == "code":
        cell["execution_count"] = None
        cell["outputs"] = []
    else:
        cell.pop("execution_count", None)
        cell.pop("outputs", None)
    return name_of(cell, at), old


def _insert(given: NotebookEditInput, notebook: JsonObject, at: int) -> tuple[str, str | None]:
    cell: JsonObject = {"cell_type": given.cell_type}
    if _has_ids(notebook):
        cell["id"] = secrets.token_hex(4)
    cell |= {"source": given.new_source, "metadata": {}}
    if given.cell_type == "code":
        cell |= {"execution_count": None, "outputs": []}
    cells_of(notebook).insert(at + 1, cell)
    return name_of(cell, at + 1), None


def _delete(given: NotebookEditInput, notebook: JsonObject, at: int) -> tuple[str, str | None]:
    cell = cells_of(notebook).pop(at)
    return name_of(cell, at), joined(cell.get("source"))


_CHANGES = {"replace": _replace, "insert": _insert, "delete": _delete}


def _has_ids(notebook: JsonObject) -> bool:
    """Cells have ids since notebook format 4.5."""
    version = notebook.get("nbformat"), notebook.get("nbformat_minor")
    return all(isinstance(part, int) for part in version) and version >= (4, 5)


def _serialized(notebook: JsonObject) -> bytes:
    try:
        return json.dumps(notebook, indent=1, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError) as error:
        raise ToolFailed(f"The notebook cannot be written: {error}. Nothing was changed.") from error


def _outcome(
    given: NotebookEditInput,
    notebook: JsonObject,
    files: tuple[bytes, bytes],
    name: str,
    old_source: str | None,
) -> Outcome:
    detail: dict[str, Any] = {"new_source": given.new_source}
    if old_source is not None:
        detail["old_source"] = old_source
    detail |= {
        "cell_type": given.cell_type or "code",
        "language": language_of(notebook),
        "edit_mode": given.edit_mode,
        "cell_id": name,
        "error": "",
        "notebook_path": given.notebook_path,
        "original_file": files[0].decode("utf-8", "replace"),
        "updated_file": files[1].decode(),
    }
    said = {"replace": "Updated cell {} with {}", "insert": "Inserted cell {} with {}", "delete": "Deleted cell {}"}
    return Outcome(said[given.edit_mode].format(name, given.new_source), detail)
