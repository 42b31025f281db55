"""Our client and our agent, joined over memory and over a process.

Most scenarios run twice with the same options, arguments, environment and script; only the transport differs.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from handrail import Options, Session
from handrail.agent.arguments import read_arguments
from handrail.agent.errors import Refused
from handrail.agent.start import serve
from handrail.client.launch import Launch
from handrail.testing import Endpoint, Lab, Script, ScriptedMessagesApi, text
from handrail.transport.memory import MemoryTransport, memory_pair

LIMIT = 60.0
"""Seconds that a scenario may take on a busy machine."""
AGENT = Path(sys.executable).with_name("handrail-agent")

SONNET = "claude-sonnet-5-5"

Talk = Callable[..., AbstractAsyncContextManager[Session]]
TalkToApi = Callable[..., AbstractAsyncContextManager[tuple[Session, Endpoint]]]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Throw-away folders, and the check that nothing still runs in them afterwards."""
    lab = Lab(tmp_path)
    yield lab
    assert lab.leftovers() == [], "processes were left behind"


@pytest.fixture(params=["memory", "process"])
def talk(request: pytest.FixtureRequest, lab: Lab) -> Talk:
    """A session whose model gives these replies: `async with talk(text("Hello."), max_turns=2) as session: …`."""
    numbers = count()

    @asynccontextmanager
    async def open_session(*replies: Any, variables: dict[str, str] | None = None, **given: Any):
        script = lab.root / f"script-{next(numbers)}.json"
        script.write_bytes(Script.of(*replies).to_json())
        env = lab.environment(**{"HANDRAIL_SCRIPT": str(script), **(variables or {})})
        options = Options(**{"cli_path": AGENT, "cwd": lab.project, "env": env} | given)
        join = in_memory if request.param == "memory" else as_process
        async with asyncio.timeout(LIMIT), join(options) as session:
            yield session

    return open_session


@pytest.fixture
def talk_to_api(lab: Lab) -> TalkToApi:
    """handrail-agent as a process, with the Messages API on loopback."""

    @asynccontextmanager
    async def open_session(
        *replies: Any, variables: dict[str, str] | None = None, **given: Any
    ) -> AsyncIterator[tuple[Session, Endpoint]]:
        script = Script.of(*(replies or [text(f"answer {number}") for number in range(12)]))
        async with asyncio.timeout(LIMIT), ScriptedMessagesApi() as api:
            endpoint = api.session(script)
            options: dict[str, Any] = {
                "cli_path": AGENT,
                "cwd": lab.project,
                "env": lab.environment(endpoint, ANTHROPIC_API_KEY="loopback", **(variables or {})),
                "model": SONNET,
            }
            async with Session(Options(**options | given)) as session:
                yield session, endpoint

    return open_session


@asynccontextmanager
async def as_process(options: Options) -> AsyncIterator[Session]:
    async with Session(options) as session:
        yield session


@asynccontextmanager
async def in_memory(options: Options) -> AsyncIterator[Session]:
    ours, theirs = memory_pair()
    launch = Launch(options)
    agent = asyncio.create_task(run_agent(theirs, launch, str(options.cwd)))
    try:
        async with Session(options, transport=ours) as session:
            yield session
        await asyncio.wait([agent], timeout=options.eof_grace)
    finally:
        agent.cancel()
        with suppress(asyncio.CancelledError):
            await agent
        launch.clean()


async def run_agent(transport: MemoryTransport, launch: Launch, cwd: str) -> int:
    """What the executable does, in this process."""
    try:
        return await serve(transport, read_arguments(launch.argv[1:]), launch.env, cwd)
    except Refused as error:
        return error.code
    finally:
        await transport.close()
