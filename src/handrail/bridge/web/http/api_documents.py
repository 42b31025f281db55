"""API documents, generated from the tables: OpenAPI of the routes, JSON Schema and TypeScript of the sockets.

`python -m handrail.bridge.web.http.api_documents SCHEMA.json MESSAGES.ts` writes the last two.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from handrail.bridge.commands.executor import COMMANDS
from handrail.bridge.web.dialects.native_messages import CLIENT, SERVER
from handrail.bridge.web.http.route import PARTS, Anything, Nothing, Route, RouteRequest, route

__all__ = ["DocumentRoutes", "main", "openapi_document", "schema_document", "typescript"]

JsonObject = dict[str, Any]
_REF: Final = "#/components/schemas/{name}"
_ERROR: Final = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
        }
    },
}
_CREATING: Final = frozenset({"/api/links", "/api/devices", "/api/uploads"})
_PLAIN: Final = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_HEAD: Final = "// Made by `make types-ts` from the tables of the bridge. Do not edit.\n"


class DocumentRoutes:
    """Serves the documents. `table` and `sockets` are those of the running server."""

    def __init__(self, table: Callable[[], Sequence[Route]], sockets: Sequence[str]) -> None:
        self._table, self._sockets = table, sockets

    @route("GET", "/api/openapi.json", "view")
    async def openapi(self, request: RouteRequest) -> JsonObject:
        """The API as an OpenAPI document, with the paths of the sockets."""
        return {**openapi_document(self._table()), "x-sockets": sorted(self._sockets)}

    @route("GET", "/api/schema.json", "view")
    async def schema(self, request: RouteRequest) -> JsonObject:
        """The messages and commands of the native protocol as JSON Schema."""
        return schema_document()


def openapi_document(table: Sequence[Route]) -> JsonObject:
    """The route table as OpenAPI 3.1."""
    paths: dict[str, JsonObject] = {}
    bodies = [one.body for one in table if one.body is not None]
    _, components = msgspec.json.schema_components(bodies, ref_template=_REF)
    for one in table:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Handrail", "version": metadata.version("handrail")},
        "paths": paths,
        "components": {
            "schemas": {**components, "Error": _ERROR},
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(one: Route) -> JsonObject:
    good = "201" if one.method == "POST" and one.path in _CREATING else "200"
    error = {"schema": {"$ref": _REF.format(name="Error")}}
    operation: JsonObject = {
        "summary": one.summary,
        "parameters": [*_path_parameters(one.path), *_query_parameters(one.query)],
        "responses": {
            good: {"description": "success", "content": {one.gives: {}}},
            "default": {"description": "error", "content": {"application/json": error}},
        },
        "security": [] if one.scope is None else [{"bearer": []}],
    }
    if one.scope is not None:
        operation["x-scope"] = one.scope
    if one.takes == "bytes":
        binary = {"schema": {"type": "string", "format": "binary"}}
        operation["requestBody"] = {"required": True, "content": {"application/octet-stream": binary}}
    elif one.body is not None:
        (body,), _ = msgspec.json.schema_components([one.body], ref_template=_REF)
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return operation


def _path_parameters(path: str) -> list[JsonObject]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "pattern": f"^{PARTS[name]}$"}}
        for name in re.findall(r"\{(\w+)\}", path)
    ]


def _query_parameters(query: type[Struct]) -> list[JsonObject]:
    if query in (Nothing, Anything):
        return []
    _, components = msgspec.json.schema_components([query])
    fields = components[query.__name__]
    needed = fields.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in needed, "schema": wanted}
        for name, wanted in fields["properties"].items()
    ]


# The native protocol


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
    """Write the native protocol as JSON Schema and as TypeScript."""
    document = schema_document()
    for path, text in (
        (schema_path, json.dumps(document, indent=2, ensure_ascii=False) + "\n"),
        (types_path, typescript(document)),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
