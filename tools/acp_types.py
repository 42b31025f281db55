"""Writes src/handrail/schema/acp/messages.py from the JSON Schema of the Agent Client Protocol.

    python -m tools.acp_types .interop/acp/node_modules/@agentclientprotocol/sdk/schema/v1/schema.unstable.json

Only facts are taken from the schema: names, fields and their types. With --check nothing is written, and the exit code
is 1 if the file is out of date.
"""

from __future__ import annotations

import argparse
import json
import keyword
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from subprocess import run
from typing import Any

TARGET = Path(__file__).parent.parent / "src" / "handrail" / "schema" / "acp" / "messages.py"
HEAD = '''"""The messages of the Agent Client Protocol, version 1. Written by `make acp-types`.

A union of objects without a field that tells them apart, and a field without a type, is decoded as it came.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct, field
'''
NAMED_TWICE = {("SessionUpdate", "tool_call_update"): "ToolCallChange"}
"""Variants whose own name is that of a type which is also used without a tag."""
SIMPLE = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "object": "dict[str, Any]",
}
PREFIX = "#/$defs/"


class Writer:
    """Turns definitions of a schema into classes and aliases."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self.definitions = definitions
        self.tags: dict[str, tuple[str, str]] = {}
        """The field and value that tell a type apart in the only union it belongs to."""
        self.variants: dict[str, list[str]] = {}
        self.subclasses: list[tuple[str, str, str, str]] = []
        self._find_variants()

    def _find_variants(self) -> None:
        uses = Counter(re.findall(rf"{re.escape(PREFIX)}(\w+)", json.dumps(self.definitions)))
        for union, definition in self.definitions.items():
            for option in (
                definition.get("oneOf", definition.get("anyOf", ())) if "properties" not in definition else ()
            ):
                tag = _tag(option)
                if tag is None or not _tagged_union(definition):
                    continue
                base = _reference(option)
                name = NAMED_TWICE.get((union, tag[1]), _pascal(tag[1]) if base is None or uses[base] > 1 else base)
                self.variants.setdefault(union, []).append(name)
                if base == name:
                    self.tags[base] = tag
                else:
                    self.subclasses.append((name, base or "Struct", *tag))

    def text(self) -> str:
        """The whole module."""
        classes = {name: self._class(name) for name, made in self.definitions.items() if self._is_class(made)}
        names = sorted({*classes, *(name for name, *_ in self.subclasses), *self.variants, *self._literals()})
        exported = "__all__ = [" + ", ".join(f'"{name}"' for name in [*names, "NOTIFICATIONS", "REQUESTS"]) + "]"
        literals = [f"{name} = Literal[{', '.join(map(repr, values))}]" for name, values in self._literals().items()]
        subclasses = [
            f'class {name}({base}, {_OPTIONS}tag="{value}", tag_field="{field}"):\n    pass\n'
            for name, base, field, value in self.subclasses
        ]
        unions = [f"{name} = {' | '.join(items)}" for name, items in self.variants.items()]
        ordered = [*literals, *classes.values(), *subclasses, *unions, *self._methods()]
        return "\n\n".join([HEAD, exported, *ordered]) + "\n"

    def _is_class(self, definition: dict[str, Any]) -> bool:
        return (
            definition.get("type") == "object" and "x-docs-ignore" not in definition and not _tagged_union(definition)
        )

    def _literals(self) -> dict[str, list[str]]:
        found = dict[str, list[str]]()
        for name, definition in self.definitions.items():
            values = [option.get("const") for option in definition.get("oneOf", ())]
            if values and all(isinstance(value, str) for value in values):
                found[name] = values
        return found

    def _class(self, name: str) -> str:
        definition = self.definitions[name]
        required = set(definition.get("required", ()))
        fields = dict(definition.get("properties", {}))
        forms = dict[str, list[Any]]()
        for option in definition.get("oneOf", definition.get("anyOf", ())):
            # Fields that belong to one of several forms: each may be missing, and differ in type.
            base = self.definitions.get(_reference(option) or "", {})
            for key, value in {**option.get("properties", {}), **base.get("properties", {})}.items():
                forms.setdefault(key, []).append(value if "const" not in value else {"type": "string"})
        fields |= {key: {"anyOf": values} for key, values in forms.items() if key not in fields}
        lines = [*self._fields(fields, required)]
        tag = self.tags.get(name)
        options = _OPTIONS + (f'tag="{tag[1]}", tag_field="{tag[0]}", ' if tag else "")
        return f"class {name}(Struct, {options.removesuffix(', ')}):\n" + ("\n".join(lines) or "    pass") + "\n"

    def _fields(self, fields: dict[str, Any], required: set[str]) -> Iterator[str]:
        for key in sorted(fields, key=lambda key: key not in required):
            kind = self._kind(fields[key])
            name = _snake(key)
            renamed = name != key
            if key in required:
                yield f"    {name}: {kind}" + (f' = field(name="{key}")' if renamed else "")
            else:
                optional = kind if "None" in kind.split(" | ") or kind == "Any" else f"{kind} | None"
                yield f"    {name}: {optional} = " + (f'field(default=None, name="{key}")' if renamed else "None")

    def _kind(self, value: dict[str, Any]) -> str:
        if "$ref" in value:
            return self._referred(value["$ref"].removeprefix(PREFIX))
        if len(value.get("allOf", ())) == 1:
            return self._kind(value["allOf"][0])
        if "anyOf" in value:
            kinds = list(dict.fromkeys(self._kind(option) for option in value["anyOf"]))
            return "Any" if "Any" in kinds else " | ".join(kinds)
        kind = value.get("type")
        if isinstance(kind, list):
            return " | ".join(self._kind({**value, "type": item}) for item in kind)
        if kind == "array":
            return f"list[{self._kind(value.get('items', {}))}]"
        return SIMPLE.get(kind or "", "Any")

    def _referred(self, name: str) -> str:
        definition = self.definitions[name]
        if name in self.variants or self._is_class(definition) or name in self._literals():
            return name
        if "oneOf" in definition or "anyOf" in definition:
            options = definition.get("oneOf", definition.get("anyOf", ()))
            kinds = {option.get("type") for option in options}
            return SIMPLE[kinds.pop()] if len(kinds) == 1 and kinds <= {"string", "integer"} else "Any"
        return self._kind(definition)

    def _methods(self) -> Iterator[str]:
        requests, notifications = dict[str, tuple[str, str]](), dict[str, str]()
        for name, definition in self.definitions.items():
            method = definition.get("x-method")
            answer = name.removesuffix("Request") + "Response"
            if method and answer != name and self._is_class(self.definitions.get(answer, {})):
                requests[method] = (name, answer)
            elif method and name.endswith("Notification"):
                notifications[method] = name
        rows = "\n".join(f'    "{method}": ({", ".join(pair)}),' for method, pair in sorted(requests.items()))
        yield f"REQUESTS: dict[str, tuple[type[Struct], type[Struct]]] = {{\n{rows}\n}}"
        rows = "\n".join(f'    "{method}": {name},' for method, name in sorted(notifications.items()))
        yield f"NOTIFICATIONS: dict[str, type[Struct]] = {{\n{rows}\n}}"


_OPTIONS = "omit_defaults=True, kw_only=True, "


def _tag(option: dict[str, Any]) -> tuple[str, str] | None:
    found = [(key, value["const"]) for key, value in option.get("properties", {}).items() if "const" in value]
    return found[0] if len(found) == 1 else None


def _tagged_union(definition: dict[str, Any]) -> bool:
    options = definition.get("oneOf", definition.get("anyOf", ())) if "properties" not in definition else ()
    return bool(options) and all(_tag(option) for option in options)


def _reference(option: dict[str, Any]) -> str | None:
    references = [item["$ref"].removeprefix(PREFIX) for item in option.get("allOf", ()) if "$ref" in item]
    return references[0] if references else None


def _pascal(text: str) -> str:
    return "".join(part.capitalize() for part in text.split("_"))


def _snake(name: str) -> str:
    snake = re.sub(r"(?<!^)([A-Z])", r"_\1", name.lstrip("_")).lower()
    return f"{snake}_" if keyword.iskeyword(snake) else snake


def _formatted(text: str) -> str:
    for step in (["check", "--fix", "--quiet", "--select", "I,RUF022", "-"], ["format", "-"]):
        ruff = [str(Path(sys.executable).with_name("ruff")), *step]
        text = run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text


def main() -> int:
    """Write the module, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("schema", type=Path)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    text = _formatted(Writer(json.loads(given.schema.read_text())["$defs"]).text())
    if given.check:
        return int(TARGET.read_text() != text)
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
