"""Values and schemas."""

from typing import Any

import pytest

from handrail.agent.tools.schema_check import problems_of

TREE = {"$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}, "$ref": "#/$defs/node"}


@pytest.mark.parametrize(
    ("value", "schema", "problems"),
    [
        (1, {"type": "integer"}, []),
        (1.0, {"type": "integer"}, []),
        (True, {"type": "integer"}, ["root: must be integer"]),
        (None, {"type": ["string", "null"]}, []),
        ({"a": [1, "x"]}, {"properties": {"a": {"items": {"type": "number"}}}}, ["/a/1: must be number"]),
        ({"b": 1}, {"additionalProperties": False}, ["root: must NOT have additional properties ('b')"]),
        ({"b": 1}, {"additionalProperties": {"type": "string"}}, ["/b: must be string"]),
        ("x", {"enum": ["y"]}, ["root: must be equal to one of the allowed values"]),
        (True, {"const": 1}, ["root: must be equal to constant"]),
        (3, {"minimum": 4}, ["root: must be >= 4"]),
        ("ab", {"maxLength": 1}, ["root: must NOT have more than 1 characters"]),
        ("ab", {"pattern": "^b"}, ['root: must match pattern "^b"']),
        ("ab", {"pattern": "("}, []),
        (1, {"anyOf": [{"type": "string"}, {"type": "null"}]}, ["root: must match a schema in anyOf"]),
        (1, {"oneOf": [{"type": "integer"}, {"type": "number"}]}, ["root: must match exactly one schema in oneOf"]),
        (1, {"allOf": [{"type": "integer"}, {"maximum": 0}]}, ["root: must be <= 0"]),
        (1, {"not": {"type": "integer"}}, ["root: must NOT be valid"]),
        ({"next": {"next": 3}}, TREE, ["/next/next: must be object"]),
        (1, {"$ref": "#"}, []),
        (1, {"$ref": "#/nowhere"}, []),
        (1, False, ["root: must not be there"]),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(value: Any, schema: Any, problems: list[str]):
    assert problems_of(value, schema) == problems
