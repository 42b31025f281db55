"""A session joined in memory to a CLI that plays a script, with an end to every wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from handrail import Options, Session
from handrail.testing import ScriptedCli

PATIENCE = 10.0
"""Seconds after which a test that waits has failed."""


@asynccontextmanager
async def joined(cli: ScriptedCli, options: Options | None = None) -> AsyncGenerator[Session]:
    """A session that has shaken hands with the CLI."""
    async with asyncio.timeout(PATIENCE), Session(options, transport=cli.transport) as session:
        yield session
