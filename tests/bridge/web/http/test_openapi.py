"""The OpenAPI and schema documents match the server."""

from __future__ import annotations

import msgspec
import pytest

from handrail.bridge.commands.catalog import COMMANDS
from handrail.bridge.web.http.catalog import ROUTES as TABLE
from handrail.bridge.web.http.openapi import document
from handrail.bridge.web.schema_document import schema_document
from tests.bridge.web.http.conftest import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_every_route_is_in_the_document_with_its_scope():
    paths = document(TABLE)["paths"]
    documented = {
        (method.upper(), path): one.get("x-scope") for path, methods in paths.items() for method, one in methods.items()
    }
    assert documented == {(one.method, one.path): one.scope for one in TABLE}


async def test_every_command_is_in_the_schema_with_its_scope():
    documented = schema_document()["commands"]
    assert {name: one["scope"] for name, one in documented.items()} == {
        name: row.scope for name, row in COMMANDS.items()
    }


async def test_the_documents_are_served(world: World):
    async with world.client(await world.same_token(["view"])) as client:
        documented = (await client.get("/api/openapi.json")).json()
        page = {
            path: documented["paths"].pop(path)
            for path in list(documented["paths"])
            if path not in document(TABLE)["paths"]
        }
        assert documented == msgspec.json.decode(msgspec.json.encode({**document(TABLE), "x-sockets": ["/", "/ws"]}))
        assert page["/"]["get"]["summary"] == "A file of the page."
        assert (await client.get("/api/schema.json")).content == msgspec.json.encode(schema_document())
