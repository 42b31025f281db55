"""Generates JSON Schema and TypeScript of the native protocol from the tables of messages and commands.

`python -m handrail.bridge.web.schema_document SCHEMA.json MESSAGES.ts` writes both.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from handrail.bridge.commands.catalog import COMMANDS
from handrail.bridge.web.dialects.native_messages import CLIENT, SERVER

__all__ = ["main", "schema_document", "typescript"]

JsonObject = dict[str, Any]
_PLAIN: Final = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_HEAD: Final = "// Made by `make types-ts` from the tables of the bridge. Do not edit.\n"


def schema_document() -> JsonObject:
    """One JSON Schema: the messages of both sides, and every command with its scope and its fields."""
    commands = sorted(COMMANDS.values(), key=lambda row: row.name)
    types = [*CLIENT, *SERVER, *(row.fields for row in commands)]
    schemas, parts = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    refs = dict(zip(types, schemas, strict=True))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "handrail.v1",
        "client": {"anyOf": [refs[message] for message in CLIENT]},
        "server": {"anyOf": [refs[message] for message in SERVER]},
        "commands": {row.name: {"scope": row.scope, "fields": refs[row.fields]} for row in commands},
        "$defs": dict(sorted(parts.items())),
    }


def typescript(document: JsonObject) -> str:
    """The document as TypeScript types."""
    blocks = [_HEAD]
    for name, schema in document["$defs"].items():
        shape = _type(schema)
        named = f"interface {name} {shape}" if shape.startswith("{") else f"type {name} = {shape};"
        blocks.append(f"{_comment(schema)}export {named}\n")
    for name in ("client", "server"):
        blocks.append(f"export type {name.title()}Message = {_type(document[name])};\n")
    rows = [
        f'  {name}: {{ scope: "{row["scope"]}"; fields: {_type(row["fields"])} }};'
        for name, row in document["commands"].items()
    ]
    blocks.append("/** Every command, with the scope it needs and its fields. */\nexport interface Commands {")
    return "\n".join([*blocks, *rows, "}", ""])


def _type(schema: JsonObject, indent: str = "") -> str:
    """A schema as a type."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    if "const" in schema:
        return json.dumps(schema["const"])
    if "anyOf" in schema:
        return " | ".join(_type(one, indent) for one in schema["anyOf"])
    kind = schema.get("type")
    if kind == "array":
        inner = _type(schema.get("items", {}), indent)
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if kind == "object":
        return _object(schema, indent)
    return _PLAIN.get(str(kind), "unknown")


def _object(schema: JsonObject, indent: str) -> str:
    fields = cast("JsonObject", schema.get("properties") or {})
    if not fields:
        more: Any = schema.get("additionalProperties", {})
        return f"Record<string, {'never' if more is False else 'unknown' if more is True else _type(more, indent)}>"
    needed, deeper = set(schema.get("required", ())), indent + "  "
    lines = [f"{deeper}{name}{'' if name in needed else '?'}: {_type(one, deeper)};" for name, one in fields.items()]
    return "\n".join(["{", *lines, f"{indent}}}"])


def _comment(schema: JsonObject) -> str:
    text = " ".join(str(schema.get("description", "")).split())
    return f"/** {text} */\n" if text else ""


def main(schema_path: Path, types_path: Path) -> None:
    """Write both."""
    document = schema_document()
    for path, text in (
        (schema_path, json.dumps(document, indent=2, ensure_ascii=False) + "\n"),
        (types_path, typescript(document)),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
