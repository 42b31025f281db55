"""JSON schemas (draft 7): whether a schema is valid, and whether a value fits it.

A schema with a keyword that is not in the table below is invalid: ignoring it would accept answers that do not fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

__all__ = ["problems_of", "schema_problem"]

JsonObject = dict[str, Any]
_MAX_DEPTH: Final = 64
_DRAFT: Final = re.compile(r"https?://json-schema\.org/draft-0[67]/schema#?")
_TYPES: Final[dict[str, Callable[[Any], bool]]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    ),
}
_LIMITS: Final[dict[str, tuple[str, Callable[[Any, Any], bool], str]]] = {
    "minimum": ("number", lambda value, limit: value >= limit, "must be >= {}"),
    "maximum": ("number", lambda value, limit: value <= limit, "must be <= {}"),
    "exclusiveMinimum": ("number", lambda value, limit: value > limit, "must be > {}"),
    "exclusiveMaximum": ("number", lambda value, limit: value < limit, "must be < {}"),
    "multipleOf": ("number", lambda value, limit: _is_multiple(value, limit), "must be multiple of {}"),
    "minLength": ("string", lambda value, limit: len(value) >= limit, "must NOT have fewer than {} characters"),
    "maxLength": ("string", lambda value, limit: len(value) <= limit, "must NOT have more than {} characters"),
    "minItems": ("array", lambda value, limit: len(value) >= limit, "must NOT have fewer than {} items"),
    "maxItems": ("array", lambda value, limit: len(value) <= limit, "must NOT have more than {} items"),
    "minProperties": ("object", lambda value, limit: len(value) >= limit, "must NOT have fewer than {} properties"),
    "maxProperties": ("object", lambda value, limit: len(value) <= limit, "must NOT have more than {} properties"),
}


# The schema itself


def schema_problem(schema: Any) -> str:
    """The first problem of a schema, or ""."""
    if not isinstance(schema, dict):
        return "it must be an object"
    return next(_faults(schema, "", schema, 0), "")


def _faults(schema: Any, at: str, root: Any, depth: int) -> Iterator[str]:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield f"{at or 'schema'} must be object,boolean"
    elif depth > _MAX_DEPTH:
        yield f"{at} is nested too deeply"
    else:
        for name, value in cast("JsonObject", schema).items():
            check = _KEYWORDS.get(name)
            if check is None:
                yield f"{at or 'schema'} has the unknown keyword {name[:60]!r}"
            else:
                yield from check(value, f"{at}/{name}", root, depth + 1)


_Check = Callable[[Any, str, Any, int], Iterator[str]]


def _anything(value: Any, at: str, root: Any, depth: int) -> Iterator[str]:
    return iter(())


def _of_type(name: str, least: int | None = None) -> _Check:
    def check(value: Any, at: str, root: Any, depth: int) -> Iterator[str]:
        if not _TYPES[name](value):
            yield f"{at} must be {name}"
        elif least is not None and value < least:
            yield f"{at} must be >= {least}"

    return check


def _schemas(value: Any, at: str, root: Any, depth: int) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{at} must be array"
    elif not value:
        yield f"{at} must NOT have fewer than 1 items"
    else:
        for number, one in enumerate(cast("list[Any]", value)):
            yield from _faults(one, f"{at}/{number}", root, depth)


def _schemas_by_name(value: Any, at: str, root: Any, depth: int) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{at} must be object"
        return
    for name, one in cast("JsonObject", value).items():
        yield from _faults(one, f"{at}/{name}", root, depth)


def _schemas_by_pattern(value: Any, at: str, root: Any, depth: int) -> Iterator[str]:
    yield from _schemas_by_name(value, at, root, depth)
    for pattern in cast("JsonObject", value) if isinstance(value, dict) else ():
        yield from _pattern(pattern, at, root, depth)


def _items(value: Any, at: str, root: Any, depth: int) -> Iterator[str]:
    return (_schemas if isinstance(value, list) else _faults)(value, at, root, depth)


def _dependencies(value: Any, at: str, root: Any, depth: int) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{at} must be object"
        return
    for name, one in cast("JsonObject", value).items():
        yield from (_names if isinstance(one, list) else _faults)(one, f"{at}/{name}", root, depth)


def _names(value: Any, at: str, root: Any, depth: int) -> Iterator[str]:
    names = cast("list[Any]", value)
    if not isinstance(value, list):
        yield f"{at} must be array"
    elif not all(isinstance(name, str) for name in names):
        yield f"{at} must contain only names"
    elif len(set(names)) < len(names):
        yield f"{at} must NOT have duplicate items"


def _type(value: Any, at: str, root: Any, depth: int) -> Iterator[str]:
    names = cast("list[Any]", value) if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) and name in _TYPES for name in names):
        yield f"{at} must be one of {', '.join(_TYPES)}"


def _enum(value: Any, at: str, root: Any, depth: int) -> Iterator[str]:
    if not isinstance(value, list) or not value:
        yield f"{at} must be an array that is not empty"


def _pattern(value: Any, at: str, root: Any, depth: int) -> Iterator[str]:
    if not isinstance(value, str):
        yield f"{at} must be string"
        return
    try:
        re.compile(value)
    except re.error as error:
        yield f"{at} has an invalid regular expression: {error}"


def _ref(value: Any, at: str, root: Any, depth: int) -> Iterator[str]:
    if not isinstance(value, str):
        yield f"{at} must be string"
    elif not value.startswith("#") or _resolved(value, root) is None:
        yield f"{at} refers to {value[:80]!r}, which this schema does not have"


def _dialect(value: Any, at: str, root: Any, depth: int) -> Iterator[str]:
    if not isinstance(value, str) or not _DRAFT.fullmatch(value):
        yield f"{at} must be http://json-schema.org/draft-07/schema#, not {value!r:.80}"


_COUNTS: Final = "minLength maxLength minItems maxItems minProperties maxProperties"
_KEYWORDS: Final[dict[str, _Check]] = {
    "$schema": _dialect,
    "$ref": _ref,
    "type": _type,
    "enum": _enum,
    "pattern": _pattern,
    "required": _names,
    "items": _items,
    "dependencies": _dependencies,
    "patternProperties": _schemas_by_pattern,
    "uniqueItems": _of_type("boolean"),
    **dict.fromkeys("$id $comment title description format".split(), _of_type("string")),
    **dict.fromkeys("const default examples deprecated readOnly writeOnly nullable".split(), _anything),
    **dict.fromkeys("contentEncoding contentMediaType".split(), _anything),
    **dict.fromkeys("definitions $defs properties".split(), _schemas_by_name),
    **dict.fromkeys("allOf anyOf oneOf".split(), _schemas),
    **dict.fromkeys("not if then else contains propertyNames additionalItems additionalProperties".split(), _faults),
    **dict.fromkeys("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf".split(), _of_type("number")),
    **dict.fromkeys(_COUNTS.split(), _of_type("integer", 0)),
}
"""The keywords of draft 7, and how the value of each is checked."""


# A value


def problems_of(value: Any, schema: Any) -> list[str]:
    """The problems as `path: problem`; the path of the value itself is `root`. The schema must be valid."""
    return list(_check(value, schema, "", schema, 0))


def _check(value: Any, schema: Any, at: str, root: Any, depth: int) -> Iterator[str]:
    if schema is False:
        yield f"{at or 'root'}: must not be present"
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return
    rules = _resolve_ref(cast("JsonObject", schema), root)
    yield from _check_type(value, rules, at)
    yield from _check_limits(value, rules, at)
    yield from _check_combinations(value, rules, at, root, depth)
    if isinstance(value, dict):
        yield from _check_object(cast("JsonObject", value), rules, at, root, depth)
    if isinstance(value, list):
        yield from _check_array(cast("list[Any]", value), rules, at, root, depth)


def _fits(value: Any, schema: Any, root: Any, depth: int) -> bool:
    return next(_check(value, schema, "", root, depth + 1), None) is None


def _resolved(reference: str, root: Any) -> Any:
    """The part of the document that a reference names; None if it has none."""
    here: Any = root
    for name in reference[1:].split("/")[1:]:
        name = name.replace("~1", "/").replace("~0", "~")
        here = cast("JsonObject", here).get(name) if isinstance(here, dict) else None
    return here


def _resolve_ref(schema: JsonObject, root: Any) -> JsonObject:
    """Follow `$ref`s within the document. References in a circle become {}, which allows anything."""
    for _ in range(_MAX_DEPTH):
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            return schema
        found = _resolved(reference, root)
        schema = cast("JsonObject", found) if isinstance(found, dict) else {}
    return {}


def _check_type(value: Any, rules: JsonObject, at: str) -> Iterator[str]:
    kinds = rules.get("type")
    names = cast("list[str]", kinds) if isinstance(kinds, list) else [kinds] if isinstance(kinds, str) else []
    if value is None and rules.get("nullable") is True:
        names = []
    if names and not any(_TYPES.get(name, lambda _: True)(value) for name in names):
        yield f"{at or 'root'}: must be {','.join(names)}"
    if "enum" in rules and not any(_same(value, one) for one in rules["enum"]):
        yield f"{at or 'root'}: must be equal to one of the allowed values"
    if "const" in rules and not _same(value, rules["const"]):
        yield f"{at or 'root'}: must be equal to constant"


def _same(one: Any, other: Any) -> bool:
    """Equal, and True is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _is_multiple(value: float, step: float) -> bool:
    return step == 0 or abs(value / step - round(value / step)) < 1e-9


def _check_limits(value: Any, rules: JsonObject, at: str) -> Iterator[str]:
    for name, (kind, fits, words) in _LIMITS.items():
        if name in rules and _TYPES[kind](value) and not fits(value, rules[name]):
            yield f"{at or 'root'}: {words.format(rules[name])}"
    pattern = rules.get("pattern")
    if isinstance(pattern, str) and isinstance(value, str) and not _matches(pattern, value):
        yield f'{at or "root"}: must match pattern "{pattern}"'


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return True


def _check_combinations(value: Any, rules: JsonObject, at: str, root: Any, depth: int) -> Iterator[str]:
    for part in rules.get("allOf") or ():
        yield from _check(value, part, at, root, depth + 1)
    for name, many in (("anyOf", True), ("oneOf", False)):
        if name in rules:
            count = sum(_fits(value, part, root, depth) for part in rules[name])
            if count == 0 or (count > 1 and not many):
                yield f"{at or 'root'}: must match {'a' if many else 'exactly one'} schema in {name}"
    if "not" in rules and _fits(value, rules["not"], root, depth):
        yield f"{at or 'root'}: must NOT be valid"
    if "if" in rules:
        branch = "then" if _fits(value, rules["if"], root, depth) else "else"
        yield from _check(value, rules.get(branch, True), at, root, depth + 1)


def _check_object(value: JsonObject, rules: JsonObject, at: str, root: Any, depth: int) -> Iterator[str]:
    yield from _check_required(value, rules.get("required") or (), at)
    properties: JsonObject = rules.get("properties") or {}
    patterns: JsonObject = rules.get("patternProperties") or {}
    others = rules.get("additionalProperties", True)
    for name, item in value.items():
        parts = [properties[name]] if name in properties else []
        parts += [part for pattern, part in patterns.items() if _matches(pattern, name)]
        if not parts and others is False:
            yield f"{at or 'root'}: must NOT have additional properties ('{name}')"
        for part in parts or ([] if others is False else [others]):
            yield from _check(item, part, f"{at}/{name}", root, depth + 1)
        if "propertyNames" in rules and not _fits(name, rules["propertyNames"], root, depth):
            yield f"{at or 'root'}: property name must be valid ('{name}')"
    dependencies: JsonObject = rules.get("dependencies") or {}
    for name, part in dependencies.items():
        if name in value and isinstance(part, list):
            yield from _check_required(value, cast("list[str]", part), at)
        elif name in value:
            yield from _check(value, part, at, root, depth + 1)


def _check_required(value: JsonObject, names: Any, at: str) -> Iterator[str]:
    for name in names:
        if name not in value:
            yield f"{at or 'root'}: must have required property '{name}'"


def _check_array(value: list[Any], rules: JsonObject, at: str, root: Any, depth: int) -> Iterator[str]:
    items = rules.get("items", True)
    places = cast("list[Any]", items) if isinstance(items, list) else []
    rest = rules.get("additionalItems", True) if isinstance(items, list) else items
    for number, item in enumerate(value):
        part = places[number] if number < len(places) else rest
        yield from _check(item, part, f"{at}/{number}", root, depth + 1)
    if "contains" in rules and not any(_fits(item, rules["contains"], root, depth) for item in value):
        yield f"{at or 'root'}: must contain at least 1 valid item"
    if rules.get("uniqueItems") is True and any(_same(one, two) for n, one in enumerate(value) for two in value[:n]):
        yield f"{at or 'root'}: must NOT have duplicate items"
