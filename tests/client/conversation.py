"""A session joined in memory to a scripted CLI, with a timeout for every wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from handrail import Options, Session
from handrail.testing import ScriptedCli

PATIENCE = 10.0
"""Seconds after which a wait fails."""


@asynccontextmanager
async def joined(cli: ScriptedCli, options: Options | None = None) -> AsyncGenerator[Session]:
    """A session after its handshake."""
    async with asyncio.timeout(PATIENCE), Session(options, transport=cli.transport) as session:
        yield session
