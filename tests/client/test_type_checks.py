"""Checking values against annotations."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

from handrail.client.type_checks import has_type, type_in_words

MATCHING: list[tuple[Any, Any]] = [
    (True, bool),
    ("a", str),
    (1, int),
    (1, float),
    (1.5, float),
    (None, str | None),
    (["a", "b"], Sequence[str]),
    (("a",), Sequence[str]),
    ([], Sequence[str]),
    ({"a": "b"}, Mapping[str, str]),
    ({"a": None}, Mapping[str, str | None]),
    ({"a": object()}, Mapping[str, Any]),
    (Path("a"), str | os.PathLike[str]),
    ([Path("a"), "b"], Sequence[str | os.PathLike[str]]),
    (print, Callable[..., Any] | None),
    ("b", Literal["a", "b"]),
    (["a"], Sequence[str] | Literal["all"]),
    ("all", Sequence[str] | Literal["all"]),
]
OTHER: list[tuple[Any, Any]] = [
    (1, bool),
    ("yes", bool),
    (True, int),
    (True, float),
    (True, str | int),
    (1.5, int),
    (b"a", str),
    (b"a", Sequence[int]),
    ("abc", Sequence[str]),
    (["a", 1], Sequence[str]),
    ({"a"}, Sequence[str]),
    ({"a": 1}, Mapping[str, str]),
    ({1: "a"}, Mapping[str, str]),
    ([("a", "b")], Mapping[str, str]),
    ("print", Callable[..., Any] | None),
    ("c", Literal["a", "b"]),
    ("some", Sequence[str] | Literal["all"]),
    (None, str),
]


@pytest.mark.parametrize(("value", "annotation"), MATCHING)
def test_matching_values_are_accepted(value: Any, annotation: Any):
    assert has_type(value, annotation)


@pytest.mark.parametrize(("value", "annotation"), OTHER)
def test_other_values_are_rejected(value: Any, annotation: Any):
    assert not has_type(value, annotation)


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (bool, "True or False"),
        (str | None, "a string or None"),
        (str | os.PathLike[str] | None, "a string or a path or None"),
        (float, "a number"),
        (int, "a whole number"),
        (Sequence[str], "a list of strings"),
        (Sequence[Any], "a list"),
        (Mapping[str, str], "a dict of strings"),
        (Mapping[str, Any], "a dict"),
        (Callable[..., Any] | None, "a function or None"),
        (Sequence[str] | Literal["all"], "a list of strings or 'all'"),
    ],
)
def test_annotations_in_words(annotation: Any, words: str):
    assert type_in_words(annotation) == words
