"""Parsing Jupyter notebooks and showing their cells to the model and to hosts."""

from __future__ import annotations

import json
from typing import Any, Final, cast

from handrail.agent.tools.base import JsonObject, ToolFailed

__all__ = ["cells_of", "joined", "language_of", "name_of", "parse_notebook", "shown_blocks", "shown_cell"]

_MAX_OUTPUT: Final = 10_000


def parse_notebook(data: bytes) -> JsonObject:
    """Parse a notebook. Raises ToolFailed if it is invalid."""
    try:
        found: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ToolFailed(f"The notebook is not valid JSON: {error}") from error
    if not isinstance(found, dict) or not isinstance(cast("JsonObject", found).get("cells"), list):
        raise ToolFailed("The file is JSON but not a notebook: the list of cells is missing.")
    notebook = cast("JsonObject", found)
    if not all(isinstance(cell, dict) for cell in notebook["cells"]):
        raise ToolFailed("The notebook is invalid: a cell is not an object.")
    return notebook


def cells_of(notebook: JsonObject) -> list[JsonObject]:
    """The cells, which may be modified in place."""
    return notebook["cells"]


def language_of(notebook: JsonObject) -> str:
    """The programming language of the code cells."""
    here: Any = notebook.get("metadata")
    for key in ("language_info", "name"):
        here = cast("JsonObject", here).get(key) if isinstance(here, dict) else None
    return here if isinstance(here, str) else "python"


def name_of(cell: JsonObject, at: int) -> str:
    """The id of a cell, or `cell-N` for cells without an id."""
    name = cell.get("id")
    return name if isinstance(name, str) else f"cell-{at}"


def joined(source: object) -> str:
    """A notebook text as one string; notebooks store it as a string or as a list of lines."""
    if isinstance(source, list):
        return "".join(part for part in cast("list[object]", source) if isinstance(part, str))
    return source if isinstance(source, str) else ""


def shown_cell(cell: JsonObject, at: int, language: str) -> JsonObject:
    """A cell in the form that hosts receive."""
    shown: JsonObject = {"cellType": cell.get("cell_type", "code"), "source": joined(cell.get("source"))}
    if cell.get("execution_count") is not None:
        shown["execution_count"] = cell["execution_count"]
    shown["cell_id"] = name_of(cell, at)
    if shown["cellType"] == "code":
        shown["language"] = language
        outputs = [_shown_output(output) for output in _outputs(cell)]
        if sum(len(output["text"]) for output in outputs) > _MAX_OUTPUT:
            text = f"The outputs are too long to be shown. Read them in Bash: jq '.cells[{at}].outputs' NOTEBOOK"
            outputs = [{"output_type": "stream", "text": text}]
        if outputs:
            shown["outputs"] = outputs
    return shown


def shown_blocks(cells: list[JsonObject]) -> list[JsonObject]:
    """All cells in the form that the model receives: one text, interrupted only by images."""
    blocks: list[JsonObject] = []
    for cell in cells:
        _append_text(blocks, _cell_text(cell))
        for output in cell.get("outputs", ()):
            if output.get("text"):
                _append_text(blocks, f"\n{output['text']}")
            if image := output.get("image"):
                source = {"type": "base64", "data": image["image_data"], "media_type": image["media_type"]}
                blocks.append({"type": "image", "source": source})
    return blocks


def _append_text(blocks: list[JsonObject], text: str) -> None:
    if blocks and blocks[-1]["type"] == "text":
        blocks[-1]["text"] += f"\n{text}"
    else:
        blocks.append({"text": text, "type": "text"})


def _cell_text(cell: JsonObject) -> str:
    kind = "" if cell["cellType"] == "code" else f"<cell_type>{cell['cellType']}</cell_type>"
    if cell.get("language", "python") != "python":
        kind += f"<language>{cell['language']}</language>"
    return f'<cell id="{cell["cell_id"]}">{kind}{cell["source"]}</cell id="{cell["cell_id"]}">'


def _outputs(cell: JsonObject) -> list[JsonObject]:
    found = cell.get("outputs")
    listed = cast("list[object]", found) if isinstance(found, list) else []
    return [cast("JsonObject", output) for output in listed if isinstance(output, dict)]


def _shown_output(output: JsonObject) -> JsonObject:
    kind = output.get("output_type", "")
    if kind == "error":
        trace = "\n".join(line for line in output.get("traceback") or () if isinstance(line, str))
        return {"output_type": kind, "text": f"{output.get('ename')}: {output.get('evalue')}\n{trace}"}
    if kind == "stream":
        return {"output_type": kind, "text": joined(output.get("text"))}
    found = output.get("data")
    data = cast("JsonObject", found) if isinstance(found, dict) else {}
    shown: JsonObject = {"output_type": kind, "text": joined(data.get("text/plain"))}
    for media_type in ("image/png", "image/jpeg"):
        if picture := joined(data.get(media_type)):
            shown["image"] = {"image_data": "".join(picture.split()), "media_type": media_type}
            break
    return shown
