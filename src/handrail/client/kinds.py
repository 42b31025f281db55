"""Whether a value is what an annotation says. In: a value, an annotation. Out: yes or no; the annotation in words."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin

__all__ = ["fits", "in_words"]

UNIONS = (Union, UnionType)
WORDS: Mapping[Any, str] = {
    bool: "True or False",
    str: "a string",
    int: "a whole number",
    float: "a number",
    os.PathLike: "a path",
    Callable: "a function",
    NoneType: "None",
}


def fits(value: Any, kind: Any) -> bool:
    """Whether it is of that kind; a string is no list, and True no number. In: any value, an annotation."""
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if origin in UNIONS:
        return any(fits(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if origin is Any or origin is Callable:
        return origin is Any or callable(value)
    if isinstance(value, bool | str | bytes):
        return origin in (bool, str) and isinstance(value, origin)
    if origin is Sequence:
        return isinstance(value, Sequence) and all(fits(item, parts[0]) for item in cast("Sequence[Any]", value))
    if origin is Mapping:
        return isinstance(value, Mapping) and _all_fit(cast("Mapping[Any, Any]", value), parts[1])
    return isinstance(value, int | float if origin is float else origin)


def _all_fit(mapping: Mapping[Any, Any], kind: Any) -> bool:
    return all(isinstance(key, str) and fits(value, kind) for key, value in mapping.items())


def in_words(kind: Any) -> str:
    """What is allowed. In: an annotation. Out: a string or None, a list of strings, …"""
    origin, parts = get_origin(kind) or kind, get_args(kind)
    if origin in UNIONS:
        return " or ".join(in_words(part) for part in parts)
    if origin is Literal:
        return " or ".join(map(repr, parts))
    if origin in (Sequence, Mapping):
        name = "a list" if origin is Sequence else "a dict"
        return f"{name} of strings" if parts[-1] is str else name
    return WORDS[origin]
