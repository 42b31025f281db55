"""Does a value fit a JSON schema? In: both. Out: the problems, each with its place. Pure, and enough for answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

__all__ = ["problems_of"]

JsonObject = dict[str, Any]
_DEEPEST: Final = 64
_KINDS: Final[dict[str, Callable[[Any], bool]]] = {
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
_AMOUNTS: Final[dict[str, tuple[str, Callable[[Any, Any], bool], str]]] = {
    "minimum": ("number", lambda value, limit: value >= limit, "must be >= {}"),
    "maximum": ("number", lambda value, limit: value <= limit, "must be <= {}"),
    "exclusiveMinimum": ("number", lambda value, limit: value > limit, "must be > {}"),
    "exclusiveMaximum": ("number", lambda value, limit: value < limit, "must be < {}"),
    "minLength": ("string", lambda value, limit: len(value) >= limit, "must NOT have fewer than {} characters"),
    "maxLength": ("string", lambda value, limit: len(value) <= limit, "must NOT have more than {} characters"),
    "minItems": ("array", lambda value, limit: len(value) >= limit, "must NOT have fewer than {} items"),
    "maxItems": ("array", lambda value, limit: len(value) <= limit, "must NOT have more than {} items"),
}


def problems_of(value: Any, schema: Any) -> list[str]:
    """What does not fit, as `place: problem`; the place of the value itself is `root`."""
    return list(_check(value, schema, "", schema, 0))


def _check(value: Any, schema: Any, at: str, root: Any, depth: int) -> Iterator[str]:
    if schema is False:
        yield f"{at or 'root'}: must not be there"
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return
    rules = _followed(cast("JsonObject", schema), root)
    yield from _check_kind(value, rules, at)
    yield from _check_amounts(value, rules, at)
    yield from _check_choices(value, rules, at, root, depth)
    if isinstance(value, dict):
        yield from _check_object(cast("JsonObject", value), rules, at, root, depth)
    if isinstance(value, list) and "items" in rules:
        for number, item in enumerate(cast("list[Any]", value)):
            yield from _check(item, rules["items"], f"{at}/{number}", root, depth + 1)


def _followed(schema: JsonObject, root: Any) -> JsonObject:
    """The schema that a `$ref` within the same document names; one that leads nowhere asks for nothing."""
    for _ in range(_DEEPEST):
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            return schema
        here: Any = root
        for name in reference[1:].split("/")[1:]:
            name = name.replace("~1", "/").replace("~0", "~")
            here = cast("JsonObject", here).get(name) if isinstance(here, dict) else None
        schema = cast("JsonObject", here) if isinstance(here, dict) else {}
    return {}


def _check_kind(value: Any, rules: JsonObject, at: str) -> Iterator[str]:
    kinds = rules.get("type")
    names = cast("list[str]", kinds) if isinstance(kinds, list) else [kinds] if isinstance(kinds, str) else []
    if names and not any(_KINDS.get(name, lambda _: True)(value) for name in names):
        yield f"{at or 'root'}: must be {','.join(names)}"
    if "enum" in rules and not any(_same(value, one) for one in rules["enum"]):
        yield f"{at or 'root'}: must be equal to one of the allowed values"
    if "const" in rules and not _same(value, rules["const"]):
        yield f"{at or 'root'}: must be equal to constant"


def _same(one: Any, other: Any) -> bool:
    """Equal, and True is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _check_amounts(value: Any, rules: JsonObject, at: str) -> Iterator[str]:
    for name, (kind, fits, words) in _AMOUNTS.items():
        if name in rules and _KINDS[kind](value) and not fits(value, rules[name]):
            yield f"{at or 'root'}: {words.format(rules[name])}"
    pattern = rules.get("pattern")
    if isinstance(pattern, str) and isinstance(value, str):
        try:
            found = re.search(pattern, value)
        except re.error:
            return
        if found is None:
            yield f'{at or "root"}: must match pattern "{pattern}"'


def _check_choices(value: Any, rules: JsonObject, at: str, root: Any, depth: int) -> Iterator[str]:
    for part in rules.get("allOf") or ():
        yield from _check(value, part, at, root, depth + 1)
    for name, many in (("anyOf", True), ("oneOf", False)):
        if name in rules:
            count = sum(next(_check(value, part, at, root, depth + 1), None) is None for part in rules[name])
            if count == 0 or (count > 1 and not many):
                yield f"{at or 'root'}: must match {'a' if many else 'exactly one'} schema in {name}"
    if "not" in rules and next(_check(value, rules["not"], at, root, depth + 1), None) is None:
        yield f"{at or 'root'}: must NOT be valid"


def _check_object(value: JsonObject, rules: JsonObject, at: str, root: Any, depth: int) -> Iterator[str]:
    for name in rules.get("required") or ():
        if name not in value:
            yield f"{at or 'root'}: must have required property '{name}'"
    properties: JsonObject = rules.get("properties") or {}
    others = rules.get("additionalProperties", True)
    for name, item in value.items():
        if name in properties:
            yield from _check(item, properties[name], f"{at}/{name}", root, depth + 1)
        elif others is False:
            yield f"{at or 'root'}: must NOT have additional properties ('{name}')"
        else:
            yield from _check(item, others, f"{at}/{name}", root, depth + 1)
