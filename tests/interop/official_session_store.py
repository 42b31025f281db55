"""Runs the official Python SDK with Handrail's session stores, and prints what it returned as JSON.

It runs in the Python that has the SDK: `official_session_store.py PATHS WHAT [ARGUMENT...]`. PATHS are where Handrail
and its packages are; they come last, so that the SDK finds its own packages first.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

sys.path += sys.argv[1].split(":")

import claude_agent_sdk
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query
from claude_agent_sdk.testing import run_session_store_conformance

from handrail.session_store import (
    InMemorySessionStore,
    PostgresSessionStore,
    SqliteSessionStore,
    fold_session_summary,
)


async def conform(kind: str, place: str) -> str:
    """Run the SDK's own conformance suite."""
    made: list[Any] = []

    async def make() -> Any:
        if kind == "postgres":
            import asyncpg

            connection = await asyncpg.connect(place)
            await connection.execute("DROP TABLE IF EXISTS handrail_entries, handrail_sessions")
            await connection.close()
        number = len(made)
        store = {
            "memory": InMemorySessionStore,
            "sqlite": lambda: SqliteSessionStore(Path(place) / f"{number}.db"),
            "postgres": lambda: PostgresSessionStore(place),
        }[kind]()
        made.append(store)
        return store

    await run_session_store_conformance(make)
    for store in made:
        if kind != "memory":
            await store.close()
    return "passed"


async def ask(database: str, agent: str, prompt: str, resume: str) -> list[str | None]:
    """Ask in a session with a store in SQLite; returns its id and the answer."""
    found: list[str | None] = []
    async with SqliteSessionStore(database) as store:
        options = ClaudeAgentOptions(cli_path=agent, session_store=store, resume=resume or None)
        async for message in query(prompt=prompt, options=options):
            if isinstance(message, ResultMessage):
                found = [message.session_id, message.result]
    return found


async def fold(entries: str) -> list[Any]:
    """The summaries of the same entries, by the SDK and by Handrail."""
    key: Any = {"project_key": "p", "session_id": "s"}
    decoded: list[Any] = json.loads(entries)
    first = [
        fold_session_summary(None, key, decoded[:1]),
        claude_agent_sdk.fold_session_summary(None, key, decoded[:1]),
    ]
    return [
        fold_session_summary(first[0], key, decoded[1:]),
        claude_agent_sdk.fold_session_summary(first[1], key, decoded[1:]),
    ]


print(json.dumps(asyncio.run(globals()[sys.argv[2]](*sys.argv[3:]))))
