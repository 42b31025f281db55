"""Helps a person to decide about a permission: the risks of the call, and where a change would be in its file.

| tool | help |
|---|---|
| any | `risks`: what is risky, and what it would touch |
| Edit, MultiEdit | `places`: per edit, where its text begins, the lines around it, and how often it occurs |
| Write | `current`: the content that would be replaced; null for a new file |

Files outside of the session's folders, private files and large files are not read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from handrail.bridge.store.base import SessionRecord
from handrail.client.callbacks import PermissionRequest
from handrail.files.errors import FileError, FileNotThere
from handrail.files.open import Root
from handrail.files.private_names import is_private
from handrail.files.resolve import absolute, anchors_of
from handrail.permissions.paths.matching import Anchors
from handrail.permissions.paths.names import is_below, squash

__all__ = ["prompt_help"]

JsonObject = dict[str, Any]
LARGEST: Final = 2 * 1024 * 1024
LARGEST_CURRENT: Final = 100 * 1024
"""Bytes. The content of a file travels with the question, so only that of a small one does."""
AROUND: Final = 3
"""Lines shown before and after a change."""


def prompt_help(asked: PermissionRequest, record: SessionRecord) -> JsonObject:
    """The help for a question. Reads one file at most."""
    from handrail.permissions.risks import risks_of  # the shell's grammar is loaded with the first question

    anchors = anchors_of(record.cwd, additional=record.options.get("add_dirs") or ())
    risks = [
        {"kind": one.kind, "subjects": list(one.subjects)} for one in risks_of(asked.tool_name, asked.input, anchors)
    ]
    about_file = _ABOUT_FILE.get(asked.tool_name)
    return {"risks": risks, **(about_file(asked.input, anchors) if about_file else {})}


def _content(input: JsonObject, anchors: Anchors, largest: int) -> str | None:
    """The content of the file that a call names; "" if it does not exist, None if it is not read."""
    path = input.get("file_path")
    if not isinstance(path, str) or not path or "\x00" in path:
        return None
    place = squash(absolute(path, anchors.cwd, anchors.home))
    folder = next((one for one in anchors.folders() if is_below(place, squash(one))), None)
    if folder is None or is_private(place, folder):
        return None
    try:
        with Root(folder) as root:
            return root.read(place, limit=largest).decode()
    except FileNotThere:
        return ""
    except (FileError, UnicodeDecodeError):
        return None


def _edits(input: JsonObject, anchors: Anchors) -> JsonObject:
    given: Any = input.get("edits", [input])
    edits = cast("list[Any]", given) if isinstance(given, list) else []
    content = _content(input, anchors, LARGEST)
    return {"places": [_place(one, content) for one in edits]} if content else {}


def _place(edit: Any, content: str) -> JsonObject | None:
    """Where the text of an edit is; None if it is not there as written."""
    old = cast("JsonObject", edit).get("old_string") if isinstance(edit, dict) else None
    at = content.find(old) if isinstance(old, str) and old else -1
    if at < 0:
        return None
    start = content.rfind("\n", 0, at) + 1
    end = content.find("\n", at + len(str(old)))
    before, after = content[:start].splitlines(), content[len(content) if end < 0 else end + 1 :].splitlines()
    return {
        "line": len(before) + 1,
        "prefix": content[start:at],
        "suffix": content[at + len(str(old)) : len(content) if end < 0 else end],
        "before": before[-AROUND:],
        "after": after[:AROUND],
        "matches": content.count(str(old)),
    }


def _write(input: JsonObject, anchors: Anchors) -> JsonObject:
    content = _content(input, anchors, LARGEST_CURRENT)
    return {} if content is None else {"current": content or None}


_ABOUT_FILE: Final[dict[str, Callable[[JsonObject, Anchors], JsonObject]]] = {
    "Edit": _edits,
    "MultiEdit": _edits,
    "Write": _write,
}
