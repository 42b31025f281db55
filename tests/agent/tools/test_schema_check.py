"""Validation against JSON schemas."""

from typing import Any

import pytest

from handrail.agent.tools.schema_check import problems_of, schema_problem

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
        (1, False, ["root: must not be present"]),
        (7, {"multipleOf": 2}, ["root: must be multiple of 2"]),
        (0.3, {"multipleOf": 0.1}, []),
        ({"a": 1}, {"maxProperties": 0}, ["root: must NOT have more than 0 properties"]),
        ({"x1": 1}, {"patternProperties": {"^x": {"type": "string"}}}, ["/x1: must be string"]),
        ({"x1": "a"}, {"patternProperties": {"^x": True}, "additionalProperties": False}, []),
        ({"B": 1}, {"propertyNames": {"pattern": "^[a-z]+$"}}, ["root: property name must be valid ('B')"]),
        ({"a": 1}, {"dependencies": {"a": ["b"]}}, ["root: must have required property 'b'"]),
        ({"a": 1}, {"dependencies": {"a": {"maxProperties": 0}}}, ["root: must NOT have more than 0 properties"]),
        ({"a": 1}, {"if": {"required": ["a"]}, "then": {"required": ["b"]}}, ["root: must have required property 'b'"]),
        ({}, {"if": {"required": ["a"]}, "else": {"required": ["c"]}}, ["root: must have required property 'c'"]),
        (["x", 2], {"items": [{"type": "string"}], "additionalItems": {"type": "string"}}, ["/1: must be string"]),
        ([1], {"contains": {"type": "string"}}, ["root: must contain at least 1 valid item"]),
        ([1, 2, 1], {"uniqueItems": True}, ["root: must NOT have duplicate items"]),
        ([1, True], {"uniqueItems": True}, []),
        (None, {"type": "string", "nullable": True}, []),
    ],
)
def test_problems_are_reported_with_their_path(value: Any, schema: Any, problems: list[str]):
    assert problems_of(value, schema) == problems


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"$schema": "http://json-schema.org/draft-07/schema#", "title": "T", "default": {}, "examples": [1]},
        {"type": ["object", "null"], "properties": {"a": True}, "required": []},
        {"properties": {"a": {"type": "array", "items": [{"type": "string"}]}}},
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {}},
        {"type": "string", "format": "unheard-of"},
        TREE,
    ],
)
def test_valid_schemas_have_no_problem(schema: Any):
    assert schema_problem(schema) == ""


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ([1], "object"),
        ({"type": "nonsense"}, "/type must be one of object"),
        ({"type": []}, "/type"),
        ({"properties": {"a": {"type": "wrong"}}}, "/properties/a/type"),
        ({"properties": {"a": 3}}, "/properties/a must be object,boolean"),
        ({"properties": []}, "/properties must be object"),
        ({"required": "a"}, "/required must be array"),
        ({"required": ["a", "a"]}, "/required must NOT have duplicate items"),
        ({"required": [1]}, "/required must contain only names"),
        ({"anyOf": []}, "/anyOf must NOT have fewer than 1 items"),
        ({"oneOf": {}}, "/oneOf must be array"),
        ({"allOf": [{"minimum": "x"}]}, "/allOf/0/minimum must be number"),
        ({"maxLength": -1}, "/maxLength must be >= 0"),
        ({"enum": "x"}, "/enum"),
        ({"pattern": "("}, "/pattern has an invalid regular expression"),
        ({"pattern": 1}, "/pattern must be string"),
        ({"patternProperties": {"(": True}}, "/patternProperties has an invalid"),
        ({"dependencies": {"a": 1}}, "/dependencies/a"),
        ({"dependencies": []}, "/dependencies must be object"),
        ({"items": 3}, "/items must be object,boolean"),
        ({"$ref": "#/$defs/none"}, "'#/$defs/none'"),
        ({"$ref": "https://example.com/schema"}, "example.com"),
        ({"$ref": 1}, "/$ref must be string"),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema"}, "/$schema must be http"),
        ({"unevaluatedProperties": False}, "unknown keyword 'unevaluatedProperties'"),
        ({"not": {"wibble": 1}}, "/not has the unknown keyword 'wibble'"),
    ],
)
def test_the_problem_of_an_invalid_schema_is_named(schema: Any, problem: str):
    assert problem in schema_problem(schema)


def test_a_schema_that_is_nested_too_deeply_is_invalid():
    schema: Any = {}
    for _ in range(100):
        schema = {"not": schema}
    assert "nested too deeply" in schema_problem(schema)
