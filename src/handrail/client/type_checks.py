"""Checking option values against their annotations."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin

__all__ = ["has_type", "type_in_words"]

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


def has_type(value: Any, annotation: Any) -> bool:
    """Whether a value has the annotated type. Stricter than Python: a string is not a list, and True not a number."""
    origin, parts = get_origin(annotation) or annotation, get_args(annotation)
    if origin in UNIONS:
        return any(has_type(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if origin is Any or origin is Callable:
        return origin is Any or callable(value)
    if getattr(origin, "_is_protocol", False):
        return value is not None  # which methods it needs depends on other options
    if isinstance(value, bool | str | bytes):
        return origin in (bool, str) and isinstance(value, origin)
    if origin is Sequence:
        return isinstance(value, Sequence) and all(has_type(item, parts[0]) for item in cast("Sequence[Any]", value))
    if origin is Mapping:
        return isinstance(value, Mapping) and _all_have_type(cast("Mapping[Any, Any]", value), parts[1])
    return isinstance(value, int | float if origin is float else origin)


def _all_have_type(mapping: Mapping[Any, Any], annotation: Any) -> bool:
    return all(isinstance(key, str) and has_type(value, annotation) for key, value in mapping.items())


def type_in_words(annotation: Any) -> str:
    """An annotation in words, such as "a string or None"."""
    origin, parts = get_origin(annotation) or annotation, get_args(annotation)
    if origin in UNIONS:
        return " or ".join(type_in_words(part) for part in parts)
    if origin is Literal:
        return " or ".join(map(repr, parts))
    if origin in (Sequence, Mapping):
        name = "a list" if origin is Sequence else "a dict"
        return f"{name} of strings" if parts[-1] is str else name
    return WORDS[origin]
