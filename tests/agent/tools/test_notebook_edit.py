"""The NotebookEdit tool."""

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.agent.models.script import Script, text, tool_use
from handrail.agent.tools.desk import Desk
from tests.agent.stage import stage
from tests.agent.tools.workplace import call, desk_in


def cell(kind: str, id: str, source: str) -> dict[str, Any]:
    more: dict[str, Any] = {"outputs": [{"output_type": "stream", "text": "x"}], "execution_count": 3}
    return {"cell_type": kind, "id": id, "metadata": {}, "source": [source], **(more if kind == "code" else {})}


@pytest.fixture
async def desk(tmp_path: Path) -> Desk:
    desk = desk_in(tmp_path)
    cells = [cell("code", "c1", "print(1)"), cell("markdown", "m1", "# T")]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "project" / "n.ipynb").write_text(json.dumps(notebook))
    await call(desk, "Read", file_path="n.ipynb")
    return desk


def cells_in(tmp_path: Path) -> list[dict[str, Any]]:
    return json.loads((tmp_path / "project" / "n.ipynb").read_text())["cells"]


async def test_a_replaced_code_cell_loses_its_outputs(tmp_path: Path, desk: Desk):
    outcome = await call(desk, "NotebookEdit", notebook_path="n.ipynb", cell_id="c1", new_source="print(2)")
    assert outcome.content == "Updated cell c1 with print(2)"
    assert cells_in(tmp_path)[0] == {
        "cell_type": "code",
        "id": "c1",
        "metadata": {},
        "source": "print(2)",
        "outputs": [],
        "execution_count": None,
    }
    detail = outcome.detail
    assert (detail["old_source"], detail["edit_mode"], detail["cell_type"]) == ("print(1)", "replace", "code")
    assert detail["updated_file"] == (tmp_path / "project" / "n.ipynb").read_text()
    assert detail["updated_file"].startswith('{\n "cells": [\n  {\n   "cell_type": "code"')


async def test_new_cell_is_inserted_after_the_given_one_or_first(tmp_path: Path, desk: Desk):
    given = {"notebook_path": "n.ipynb", "edit_mode": "insert"}
    outcome = await call(desk, "NotebookEdit", **given, cell_id="c1", cell_type="markdown", new_source="q")
    await call(desk, "NotebookEdit", **given, cell_type="code", new_source="first")
    cells = cells_in(tmp_path)
    assert [one["source"] for one in cells] == ["first", ["print(1)"], "q", ["# T"]]
    assert cells[2] == {"cell_type": "markdown", "id": outcome.detail["cell_id"], "source": "q", "metadata": {}}
    assert "old_source" not in outcome.detail


async def test_cell_can_be_deleted_by_index(tmp_path: Path, desk: Desk):
    outcome = await call(
        desk, "NotebookEdit", notebook_path="n.ipynb", cell_id="cell-1", new_source="", edit_mode="delete"
    )
    assert (outcome.content, outcome.detail["old_source"]) == ("Deleted cell m1", "# T")
    assert len(cells_in(tmp_path)) == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"cell_id": "zz"}, 'Cell with ID "zz" not found in notebook.'),
        ({"cell_id": "cell-9"}, 'Cell with ID "cell-9" not found in notebook.'),
        ({}, "Cell ID must be specified when not inserting a new cell."),
        ({"edit_mode": "insert"}, "Cell type is required when using edit_mode=insert."),
        ({"notebook_path": "w.txt"}, "File must be a Jupyter notebook"),
        ({"notebook_path": "o.ipynb", "cell_id": "c"}, "File does not exist."),
    ],
)
async def test_invalid_edits_are_explained(desk: Desk, given: dict[str, Any], words: str):
    outcome = await call(desk, "NotebookEdit", **{"notebook_path": "n.ipynb", "new_source": "q", **given})
    assert outcome.is_error
    assert outcome.detail.startswith(f"Error: {words}")


async def test_unread_or_modified_notebook_is_refused(tmp_path: Path, desk: Desk):
    given = {"notebook_path": "n.ipynb", "cell_id": "c1", "new_source": "q"}
    path = tmp_path / "project" / "n.ipynb"
    path.write_text(path.read_text() + "\n")
    assert "modified since read" in (await call(desk, "NotebookEdit", **given)).content
    desk.seen.clear()
    assert "has not been read yet" in (await call(desk, "NotebookEdit", **given)).content


async def test_an_edit_that_cannot_succeed_is_not_asked_about(tmp_path: Path):
    notebook = tmp_path / "project" / "n.ipynb"
    notebook.parent.mkdir(exist_ok=True)
    notebook.write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    change = tool_use("NotebookEdit", notebook_path=str(notebook), cell_id="c1", new_source="x")
    async with stage(tmp_path, Script.of(change, text("done"))) as host:
        await host.turn("go")
        assert "has not been read yet" in str(host.results_of_tools()[0]["content"])
        assert host.requests("can_use_tool") == []
