"""The API documents, generated from the tables: OpenAPI for the routes, JSON Schema for the sockets."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any, Final

import msgspec
from msgspec import Struct

from handrail.bridge.web.http.route import PARTS, Anything, Nothing, Route, RouteRequest, route
from handrail.bridge.web.schema_document import schema_document

__all__ = ["DocumentRoutes", "document"]

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


class DocumentRoutes:
    """Serves the documents. `table` and `sockets` are those of the running server."""

    def __init__(self, table: Callable[[], Sequence[Route]], sockets: Sequence[str]) -> None:
        self._table, self._sockets = table, sockets

    @route("GET", "/api/openapi.json", "view")
    async def openapi(self, request: RouteRequest) -> JsonObject:
        """The API as an OpenAPI document, with the paths of the sockets."""
        return {**document(self._table()), "x-sockets": sorted(self._sockets)}

    @route("GET", "/api/schema.json", "view")
    async def schema(self, request: RouteRequest) -> JsonObject:
        """The messages and commands of the native protocol as JSON Schema."""
        return schema_document()


def document(table: Sequence[Route]) -> JsonObject:
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


_CREATING: Final = frozenset({"/api/links", "/api/devices", "/api/uploads"})


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
