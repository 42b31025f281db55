"""The OpenAPI and schema documents match the server."""

from __future__ import annotations

import msgspec
import pytest

from handrail.bridge.web.http.api_documents import openapi_document, schema_document
from tests.bridge.web.http.api_routes import ROUTES as TABLE
from tests.bridge.web.http.conftest import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_every_route_is_in_the_document_with_its_scope():
    paths = openapi_document(TABLE)["paths"]
    documented = {
        (method.upper(), path): one.get("x-scope") for path, methods in paths.items() for method, one in methods.items()
    }
    assert documented == {(one.method, one.path): one.scope for one in TABLE}


async def test_the_documents_are_served(world: World):
    async with world.client(await world.same_token(["view"])) as client:
        documented = (await client.get("/api/openapi.json")).json()
        page = {
            path: documented["paths"].pop(path)
            for path in list(documented["paths"])
            if path not in openapi_document(TABLE)["paths"]
        }
        assert documented == msgspec.json.decode(
            msgspec.json.encode({**openapi_document(TABLE), "x-sockets": ["/", "/acp", "/ws"]})
        )
        assert page["/"]["get"]["summary"] == "A file of the page."
        assert (await client.get("/api/schema.json")).content == msgspec.json.encode(schema_document())
