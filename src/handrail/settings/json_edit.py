"""Changes one value in JSON text and leaves the rest unchanged.

Order, indentation, line ends and unknown keys stay byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, cast

import msgspec

from handrail.settings.json_tree import Node, parse

__all__ = ["change_list", "set_value"]

_INDENT = re.compile(r"\n([ \t]+)\S")
_SPACE_BEFORE = re.compile(r"[ \t\r\n]*\Z")


def set_value(text: str, keys: Sequence[str], value: str | Sequence[str]) -> str:
    """Set the value at a path of keys; missing objects on the way are added."""
    root = parse(text)
    node = root.at(*keys)
    if node is not None:
        return _replace(text, node.start, node.end, _write(text, value, len(keys)))
    depth = next(depth for depth in reversed(range(len(keys))) if root.at(*keys[:depth]) is not None)
    parent = root.at(*keys[:depth])
    if parent is None or parent.members is None:
        raise ValueError(f"`{'.'.join(keys[:depth])}` is not an object")
    made: Any = value
    for key in reversed(keys[depth + 1 :]):
        made = {key: made}
    return _add_member(text, parent, keys[depth], made, depth)


def change_list(text: str, keys: Sequence[str], add: Sequence[str], remove: Collection[str] = ()) -> str:
    """Remove texts from a list and append others, without duplicates."""
    node = parse(text).at(*keys)
    if node is None:
        return set_value(text, keys, [*dict.fromkeys(add)]) if add else text
    if node.items is None:
        raise ValueError(f"`{'.'.join(keys)}` is not a list")
    kept = [item for item in node.items if item.value not in remove]
    new = [item for item in dict.fromkeys(add) if item not in [old.value for old in kept]]
    if not kept:
        changed = len(node.items) or new
        return _replace(text, node.start, node.end, _write(text, new, len(keys))) if changed else text
    edits = _cuts(node.items, remove)
    if new:
        before = _space_before(text, kept[-1].start) or " "
        edits.append((kept[-1].end, kept[-1].end, "".join(f",{before}{_json(item)}" for item in new)))
    for start, end, put in sorted(edits, reverse=True):
        text = _replace(text, start, end, put)
    return text


def _cuts(items: Sequence[Node], remove: Collection[str]) -> list[tuple[int, int, str]]:
    """Edits that remove items, each with one comma and its space, from a list of which at least one stays."""
    first_kept = next(index for index, item in enumerate(items) if item.value not in remove)
    return [
        (item.start, items[index + 1].start, "") if index < first_kept else (items[index - 1].end, item.end, "")
        for index, item in enumerate(items)
        if item.value in remove
    ]


def _add_member(text: str, parent: Node, key: str, value: Any, depth: int) -> str:
    if parent.members:
        last = [*parent.members.values()][-1]
        colon = re.sub(r'\A"(?:[^"\\]|\\.)*"', "", text[last.key_start : last.start])
        before = _space_before(text, last.key_start)
        member = f",{before}{_json(key)}{colon}{_write(text, value, depth + 1)}"
        return _replace(text, last.end, last.end, member)
    return _replace(text, parent.start, parent.end, _write(text, {key: value}, depth))


def _write(text: str, value: Any, depth: int) -> str:
    """A value in the style of the file; if the file has several lines, containers have one item per line."""
    if isinstance(value, dict) and value:
        members = cast("dict[str, Any]", value).items()
        return _container(
            text, "{}", [f"{_json(key)}: {_write(text, item, depth + 1)}" for key, item in members], depth
        )
    if isinstance(value, list) and value:
        return _container(text, "[]", [*map(_json, cast("list[Any]", value))], depth)
    return _json(value)


def _container(text: str, signs: str, parts: list[str], depth: int) -> str:
    if "\n" not in text.strip() and len(text.strip()) > len("{}"):
        return f"{signs[0]}{', '.join(parts)}{signs[1]}"
    newline = "\r\n" if "\r\n" in text else "\n"
    found = _INDENT.search(text)
    unit = found[1] if found else "  "
    inner = f"{newline}{unit * (depth + 1)}"
    return f"{signs[0]}{inner}{f',{inner}'.join(parts)}{newline}{unit * depth}{signs[1]}"


def _space_before(text: str, offset: int) -> str:
    # A bounded look back: anything wider than this is not indentation.
    found = _SPACE_BEFORE.search(text[max(0, offset - 200) : offset])
    return found[0] if found else ""


def _replace(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
