"""JSON with positions: the values, their places, and the rest of a broken text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.settings.json_tree import DEPTH_LIMIT, JsonFault, Lines, parse

TEXT = '{\n  "a": [1, "x"],\n  "b": {"c": null}\n}\n'

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(values, st.sampled_from([None, 0, 2, "\t"]), st.booleans())
def test_json_round_trip(value: Any, indent: Any, ascii_only: bool):
    assert parse(json.dumps(value, indent=indent, ensure_ascii=ascii_only)).plain() == value


@given(values)
def test_span_of_each_value_is_right(value: Any):
    text = json.dumps({"here": value}, indent=1)
    node = parse(text).at("here")
    assert node is not None
    assert json.loads(text[node.start : node.end]) == value
    assert text[node.key_start :].startswith('"here"')


def test_missing_path_leads_to_nothing():
    tree = parse(TEXT)
    assert (tree.at("a", "x"), tree.at("nope"), tree.at("b", "c", "d")) == (None, None, None)


def test_lines_and_columns_count_from_one():
    lines = Lines(TEXT)
    assert [lines.place(offset) for offset in (0, 1, 2, TEXT.index('"x"'), len(TEXT))] == [
        (1, 1),
        (1, 2),
        (2, 1),
        (2, 12),
        (5, 1),
    ]


@pytest.mark.parametrize(
    ("text", "problem", "offset"),
    [
        ("", "the file ends where a value is expected", 0),
        ("{} x", "something follows after the end", 3),
        ('{"a" 1}', "a colon is expected here, not '1'", 5),
        ('{"a": 1 "b": 2}', "a comma or the end is expected", 8),
        ("{a: 1}", "a key in quotes is expected here, not 'a'", 1),
        ('{"a": 1,}', "a key in quotes is expected here, not '}'", 8),
        ("[1,]", "a value is expected here, not ']'", 3),
        ("[1", "the file ends where a comma or the end is expected", 2),
        ('["a', "a string that does not end", 1),
        ('["\\x"]', "a bad escape", 1),
        ('["\\ud800"]', "half of a surrogate pair", 1),
        ("[01]", "a comma or the end is expected", 2),
        ("[NaN]", "a value is expected", 1),
        ("[1e999]", "a number that is too large", 1),
        ("[" * 100_000, f"more than {DEPTH_LIMIT} levels", DEPTH_LIMIT + 1),
        ('{"a": 1, "a": 2}', "duplicate key 'a'", 9),
        ("[" + "1" * 5000 + "]", "a comma or the end is expected", 402),
    ],
)
def test_invalid_json_is_reported_with_its_place(text: str, problem: str, offset: int):
    with pytest.raises(JsonFault) as caught:
        parse(text)
    assert problem in caught.value.problem
    assert caught.value.offset == offset


def test_values_before_the_fault_are_kept():
    with pytest.raises(JsonFault) as caught:
        parse('{"deny": ["a", "b"], "allow": ["c", "d')
    partial = caught.value.partial
    assert partial is not None
    assert partial.plain() == {"deny": ["a", "b"], "allow": ["c"]}


def test_both_values_of_a_duplicate_key_are_kept():
    with pytest.raises(JsonFault) as caught:
        parse('{"deny": ["a"], "deny": ["b"]}')
    partial = caught.value.partial
    assert partial is not None
    assert [node.value for node in partial.strings()] == ["a", "b"]


@given(st.text(alphabet='{}[]",:\\u0019ntrfals e.-+\n', max_size=30))
def test_any_text_is_read_as_json_or_refused(text: str):
    fault = fault_of(text)
    if fault is None:
        assert parse(text).plain() == json.loads(text)
    else:
        assert 0 <= fault.offset <= len(text)


def fault_of(text: str) -> JsonFault | None:
    try:
        parse(text)
    except JsonFault as fault:
        return fault
    return None
