"""Changes one value in JSON text: the rest stays byte for byte."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.settings.json_edit import change_list, set_value

ALLOW = ("permissions", "allow")

STYLED = """{
\t"$schema": "x",  "odd" :[1,2 , 3],
\t"permissions": {
\t\t"deny" : [ "a" ],
\t\t"allow": [
\t\t\t"one",
\t\t\t"two"
\t\t]
\t},
\t"after": "\\u00e9"
}
"""


def test_an_item_is_added_in_the_style_of_those_before():
    assert change_list(STYLED, ALLOW, ["three"]) == STYLED.replace('"two"\n', '"two",\n\t\t\t"three"\n')
    deny = change_list(STYLED, ("permissions", "deny"), ["b", 'c"'])
    assert deny == STYLED.replace('[ "a" ]', '[ "a", "b", "c\\"" ]')


def test_duplicate_item_is_not_added():
    assert change_list(STYLED, ALLOW, ["two", "one"]) == STYLED


@pytest.mark.parametrize(
    ("text", "remove", "left"),
    [
        ('["a", "b", "c"]', {"a"}, '["b", "c"]'),
        ('["a", "b", "c"]', {"b"}, '["a", "c"]'),
        ('["a", "b", "c"]', {"c"}, '["a", "b"]'),
        ('["a", "b", "c"]', {"a", "b"}, '["c"]'),
        ('["a", "b", "c"]', {"b", "c"}, '["a"]'),
        ('["a", "b", "c"]', {"a", "c"}, '["b"]'),
        ('["a", "b", "a"]', {"a"}, '["b"]'),
        ('["a"]', {"a"}, "[]"),
        ('[ "a" ]', {"x"}, '[ "a" ]'),
        ("[ ]", {"x"}, "[ ]"),
    ],
)
def test_item_is_removed_with_one_comma(text: str, remove: set[str], left: str):
    assert change_list(f'{{"l": {text}}}', ("l",), [], remove) == f'{{"l": {left}}}'


def test_missing_list_is_made_only_for_items():
    assert change_list("{}", ALLOW, []) == "{}"
    assert change_list("{}\n", ALLOW, ["a"]) == '{\n  "permissions": {\n    "allow": [\n      "a"\n    ]\n  }\n}\n'


def test_a_member_is_added_in_the_style_of_those_before():
    assert set_value('{"a":1}', ("b", "c"), "x") == '{"a":1,"b":{"c": "x"}}'
    assert (
        set_value('{\r\n    "a": 1\r\n}', ("b",), ["x"])
        == '{\r\n    "a": 1,\r\n    "b": [\r\n        "x"\r\n    ]\r\n}'
    )
    assert set_value('{"p": {}, "q": 1}', ("p", "m"), "x") == '{"p": {"m": "x"}, "q": 1}'


def test_a_value_is_replaced_and_nothing_around_it():
    assert set_value(STYLED, ("after",), "y") == STYLED.replace('"\\u00e9"', '"y"')
    assert set_value(STYLED, ALLOW, []) == STYLED.replace('[\n\t\t\t"one",\n\t\t\t"two"\n\t\t]', "[]")


def test_value_in_the_way_is_not_overwritten():
    with pytest.raises(ValueError, match="`permissions` is not an object"):
        set_value('{"permissions": 1}', ALLOW, [])
    with pytest.raises(ValueError, match="`l` is not a list"):
        change_list('{"l": {}}', ("l",), ["a"])


texts = st.text(max_size=5)


@given(
    st.dictionaries(texts, texts | st.lists(texts) | st.integers(), max_size=4),
    st.lists(texts, max_size=4),
    st.lists(texts, max_size=4),
    st.lists(texts, max_size=3),
    st.sampled_from([None, 1, 4, "\t"]),
)
def test_a_list_becomes_what_was_asked_for_and_all_else_stays(
    others: dict[str, Any], old: list[str], add: list[str], remove: list[str], indent: Any
):
    others.pop("list", None)
    value = {**others, "list": old, "last": 1}
    text = json.dumps(value, indent=indent)
    changed = json.loads(change_list(text, ("list",), add, set(remove)))
    kept = [item for item in old if item not in remove]
    assert changed == {**value, "list": [*kept, *(item for item in dict.fromkeys(add) if item not in kept)]}
    assert list(changed) == list(value)
