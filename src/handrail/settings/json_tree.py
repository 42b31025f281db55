"""Parses JSON into a tree with the offset of each value; after a fault, the part before it.

A settings file needs more of a parser than its values: the line of each rule, so that a person finds it; the span of
each value, so that one can be changed and the rest left as it is; and, of a file that is cut off, what came before.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any, cast

import msgspec

from handrail.errors import CallerError

__all__ = ["TWICE", "JsonFault", "Lines", "Node", "parse"]

DEPTH_LIMIT = 64
TWICE = "\0twice at "
"""Marks a duplicate key. Such a tree comes only with a fault."""

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,400})(?:\.\d{1,400})?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_WORD = re.compile(r"true|false|null")
_WORDS = {"true": True, "false": False, "null": None}


class Node(msgspec.Struct):
    """One value: `members` of an object, `items` of an array, else `value`. A member has a `key_start`."""

    start: int
    end: int = -1
    key_start: int = -1
    members: dict[str, Node] | None = None
    items: list[Node] | None = None
    value: Any = None

    def plain(self) -> Any:
        """The value as Python objects."""
        if self.members is not None:
            return {key: node.plain() for key, node in self.members.items()}
        return self.value if self.items is None else [node.plain() for node in self.items]

    def at(self, *keys: str) -> Node | None:
        """The value below, by the keys that lead to it."""
        node: Node | None = self
        for key in keys:
            node = None if node is None or node.members is None else node.members.get(key)
        return node

    def strings(self) -> list[Node]:
        """All text at and below this value, in the order of the file."""
        if self.members is not None or self.items is not None:
            below = [*(self.members or {}).values(), *(self.items or ())]
            return [found for node in below for found in node.strings()]
        return [self] if isinstance(self.value, str) else []


class JsonFault(CallerError, ValueError):
    """The text is not JSON. `offset` says where; `partial` holds what was read before."""

    def __init__(self, problem: str, offset: int, partial: Node | None = None) -> None:
        super().__init__(problem)
        self.problem, self.offset, self.partial = problem, offset, partial


def parse(text: str) -> Node:
    """Parse one value. Raises JsonFault for invalid JSON and for a duplicate key in an object."""
    reader = _Reader(text)
    try:
        node = reader.value(reader.space(0), 0)
        end = reader.space(node.end)
        if end != len(text):
            raise JsonFault("something follows after the end of the JSON", end)
        if reader.twice is not None:
            raise reader.twice
    except JsonFault as fault:
        fault.partial = reader.root
        raise
    return node


class Lines:
    """The lines of a text; line and column of an offset are counted from 1."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


class _Reader:
    """Recursive descent. A container joins the tree before it is complete, so `root` survives a fault."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.root: Node | None = None
        self.twice: JsonFault | None = None

    def space(self, offset: int) -> int:
        found = _SPACE.match(self.text, offset)
        return found.end() if found else offset

    def value(self, start: int, depth: int, parent: Node | None = None, key: str | None = None) -> Node:
        if depth > DEPTH_LIMIT:
            raise JsonFault(f"more than {DEPTH_LIMIT} levels of nesting", start)
        node = Node(start)
        sign = self.text[start : start + 1]
        if sign in ("{", "["):
            _hang(node, parent, key)
            self.root = self.root or node
            (self._object if sign == "{" else self._array)(node, depth)
        else:
            node.end, node.value = self._scalar(start, sign)
            _hang(node, parent, key)
        return node

    def _scalar(self, start: int, sign: str) -> tuple[int, Any]:
        if sign == '"':
            return self._string(start)
        if found := _WORD.match(self.text, start):
            return found.end(), _WORDS[found[0]]
        if found := _NUMBER.match(self.text, start):
            number = int(found[0]) if found[0].lstrip("-").isdigit() else float(found[0])
            if number in (float("inf"), float("-inf")):
                raise JsonFault("a number that is too large", start)
            return found.end(), number
        raise JsonFault(self._unexpected(start, "a value"), start)

    def _string(self, start: int) -> tuple[int, str]:
        found = _STRING.match(self.text, start)
        if found is None:
            raise JsonFault("a string that does not end, or that holds a raw control character or a bad escape", start)
        try:
            return found.end(), msgspec.json.decode(found[0].encode("utf-8", "surrogatepass"), type=str)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise JsonFault("a string with half of a surrogate pair", start) from None

    def _object(self, node: Node, depth: int) -> None:
        node.members = {}
        offset = self.space(node.start + 1)
        while not self._closed(node, "}", offset):
            key_start = self._after_comma(offset) if node.members else offset
            if self.text[key_start : key_start + 1] != '"':
                raise JsonFault(self._unexpected(key_start, "a key in quotes"), key_start)
            end, key = self._string(key_start)
            colon = self.space(end)
            if self.text[colon : colon + 1] != ":":
                raise JsonFault(self._unexpected(colon, "a colon"), colon)
            if key in node.members:
                # The tree keeps both, so that nothing that was forbidden under the first one is lost.
                self.twice = self.twice or JsonFault(f"duplicate key {key[:60]!r}", key_start)
                key = f"{key}{TWICE}{key_start}"
            member = self.value(self.space(colon + 1), depth + 1, node, key)
            member.key_start = key_start
            offset = self.space(member.end)

    def _array(self, node: Node, depth: int) -> None:
        node.items = []
        offset = self.space(node.start + 1)
        while not self._closed(node, "]", offset):
            item = self._after_comma(offset) if node.items else offset
            offset = self.space(self.value(item, depth + 1, node).end)

    def _closed(self, node: Node, sign: str, offset: int) -> bool:
        if self.text[offset : offset + 1] == sign:
            node.end = offset + 1
        return node.end >= 0

    def _after_comma(self, offset: int) -> int:
        if self.text[offset : offset + 1] != ",":
            raise JsonFault(self._unexpected(offset, "a comma or the end"), offset)
        return self.space(offset + 1)

    def _unexpected(self, offset: int, wanted: str) -> str:
        found = self.text[offset : offset + 1]
        return f"{wanted} is expected here, not {found!r}" if found else f"the file ends where {wanted} is expected"


def _hang(node: Node, parent: Node | None, key: str | None) -> None:
    if parent is not None and key is not None:
        cast("dict[str, Node]", parent.members)[key] = node
    elif parent is not None:
        cast("list[Node]", parent.items).append(node)
