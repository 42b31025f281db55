"""Markdown files with a head: commands, agents, skills, output styles.

The head is a small part of YAML: `key: value`, lists in brackets or with dashes. Nothing else is read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, Final, cast

__all__ = ["read_folder", "split_head", "without_powers"]

LIMIT: Final = 256 * 1024
_KEY: Final = re.compile(r"([A-Za-z][\w-]*):[ \t]*(.*)")
_HEAD: Final = re.compile(r"\A---[ \t]*\n(.*?)(?:\n)?---[ \t]*(?:\n|\Z)", re.DOTALL)


def split_head(text: str) -> tuple[dict[str, Any], str]:
    """The head of a file, and the text after it."""
    found = _HEAD.match(text.replace("\r\n", "\n"))
    if not found:
        return {}, text
    return _read_head(found[1]), text.replace("\r\n", "\n")[found.end() :]


def _read_head(text: str) -> dict[str, Any]:
    head: dict[str, Any] = {}
    key = ""
    for line in text.splitlines():
        if (pair := _KEY.fullmatch(line.rstrip())) is not None:
            key, value = pair[1], pair[2].strip()
            head[key] = _value(value)
        elif key and (item := line.strip()).startswith("- "):
            items = cast("list[str]", head[key]) if isinstance(head[key], list) else []
            head[key] = [*items, item[2:].strip().strip("\"'")]
        elif key and line.startswith((" ", "\t")) and isinstance(head[key], str):
            head[key] = f"{head[key].lstrip('>|').strip()} {line.strip()}".strip()
    return head


def _value(text: str) -> Any:
    if text.startswith("[") and text.endswith("]"):
        return [item.strip().strip("\"'") for item in text[1:-1].split(",") if item.strip()]
    if text in ("true", "false"):
        return text == "true"
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def read_folder(folder: str, name: str = "") -> Iterator[tuple[str, dict[str, Any], str]]:
    """Every Markdown file below a folder: its name (`sub:name` in a subfolder), head and body.

    `name`: only files of this name, which are then called by their folder (skills).
    """
    if not os.path.isdir(folder):
        return
    from handrail.files.errors import FileError  # rarely needed
    from handrail.files.open import Root

    try:
        with Root(folder) as root:
            for path in sorted(_paths(folder)):
                relative = os.path.relpath(path, folder)
                if name and os.path.basename(relative) != name:
                    continue
                try:
                    text = root.read(relative, limit=LIMIT).decode("utf-8", "replace")
                except FileError:
                    continue
                parts = (os.path.dirname(relative) if name else relative.removesuffix(".md")).split(os.sep)
                yield ":".join(parts), *split_head(text)
    except FileError:
        return


def without_powers(head: dict[str, Any]) -> dict[str, Any]:
    """The keys of a head that count in an untrusted folder: they describe, limit or choose a model."""
    from handrail.settings.command_text import is_harmless  # rarely needed

    return {key: value for key, value in head.items() if is_harmless(key)}


def _paths(folder: str) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = [item for item in folders if not item.startswith(".")][:100]
        yield from (os.path.join(place, item) for item in names[:500] if item.endswith(".md"))
