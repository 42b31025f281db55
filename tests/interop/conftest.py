"""Fixtures for tests of the SDK with the real CLI and a scripted model on loopback.

Run it with `make interop`. Every scenario has its own home and project, and must leave no process behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from handrail import Options, Session
from handrail.testing import Lab, Script, ScriptedMessagesApi, real_cli
from tests.interop.scenario import LIMIT, Model, SessionOptions, Talk

HERE = Path(__file__).parent
NO_CLI = "interop needs the real CLI: run `make interop`, or name one with HANDRAIL_REAL_CLI"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests of this folder as interop."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.interop)


@pytest.fixture(scope="session")
def cli() -> Path:
    """The real CLI. Tests fail without it, since skipped tests would look like success."""
    found = real_cli()
    if found is None:
        pytest.fail(NO_CLI, pytrace=False)
    return found


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Temporary folders; fails if a process still runs in them after the test."""
    lab = Lab(tmp_path)
    yield lab
    assert lab.leftovers() == [], "processes were left behind"


@pytest.fixture
async def api(lab: Lab) -> AsyncIterator[ScriptedMessagesApi]:
    """The Messages API on loopback; `model` adds endpoints to it."""
    async with ScriptedMessagesApi() as api:
        yield api


@pytest.fixture
def model(api: ScriptedMessagesApi) -> Model:
    """A model that gives these replies: `endpoint = model(text("Hello."))`."""

    def make(*replies: Any, **extra: Any) -> Any:
        return api.session(Script.of(*replies, **extra))

    return make


@pytest.fixture
def session_options(lab: Lab, cli: Path) -> SessionOptions:
    """Options for a session in the lab: `session_options(endpoint, max_turns=2)`."""

    def make(endpoint: Any, *, variables: dict[str, str] | None = None, **options: Any) -> Options:
        return Options(
            **{"cli_path": cli, "cwd": lab.project, "env": lab.environment(endpoint, **(variables or {}))} | options
        )

    return make


@pytest.fixture
def talk(session_options: SessionOptions) -> Talk:
    """A session in the lab with a time limit: `async with talk(endpoint) as session: …`."""

    @asynccontextmanager
    async def open_session(endpoint: Any, **options: Any) -> AsyncIterator[Session]:
        async with asyncio.timeout(LIMIT), Session(session_options(endpoint, **options)) as session:
            yield session

    return open_session
