"""Requests generated from the OpenAPI document, valid and invalid, never make the server fail."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy
from schemathesis import GenerationMode

from handrail.bridge.web.http.api_documents import openapi_document
from tests.bridge.serving import running
from tests.bridge.web.http.api_routes import ROUTES as TABLE

DOCUMENT = openapi_document(TABLE)
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
LEFT_OUT = {("POST", "/api/logout")}
"""It would log out the device under test."""
OPERATIONS = sorted((one.method, one.path) for one in TABLE if (one.method, one.path) not in LEFT_OUT)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[str, str]]:
    """A server in a separate thread, for a blocking client; yields its address and a token."""
    ready, folder = threading.Event(), tmp_path_factory.mktemp("schema")
    found: list[tuple[str, str]] = []
    ends: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve(folder: Path) -> None:
        async with running(folder) as server:
            found.append((server.address, await server.token()))
            ends.append((asyncio.get_running_loop(), asyncio.Event()))
            ready.set()
            await ends[0][1].wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve(folder)))
    thread.start()
    assert ready.wait(30)
    yield found[0]
    ends[0][0].call_soon_threadsafe(ends[0][1].set)
    thread.join(30)


def cases(method: str, path: str) -> SearchStrategy[schemathesis.Case]:
    """Valid requests, and invalid ones for operations with parameters or a body."""
    operation, described = SCHEMA[path][method], DOCUMENT["paths"][path][method.lower()]
    good = operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    if not (described["parameters"] or "requestBody" in described):
        return good
    return good | operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)


def try_out(served: tuple[str, str], method: str, path: str, examples: int) -> None:
    address, token = served

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases(method, path))
    def holds(case: schemathesis.Case) -> None:
        answer = case.call(base_url=address, headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code < 500, answer.text
        if answer.status_code >= 400:
            assert set(answer.json()["error"]) == {"code", "message"}

    holds()


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_generated_requests_do_not_fail(served: tuple[str, str], method: str, path: str):
    try_out(served, method, path, 3)


@pytest.mark.campaign
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_many_generated_requests_do_not_fail(served: tuple[str, str], method: str, path: str):
    try_out(served, method, path, 50)
