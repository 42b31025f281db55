"""A running session with a scripted CLI; see scripted_cli.py for the script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import handrail
from tests.client.scripted_cli import write_cli

PATIENCE = 60
"""Seconds; only a hang takes this long, since no test waits for time to pass."""


@asynccontextmanager
async def scripted_session(folder: Path, script: str, **options: Any) -> AsyncIterator[handrail.Session]:
    """Open a session; anything still waiting after the limit fails."""
    cli = write_cli(folder, script)
    async with asyncio.timeout(PATIENCE), handrail.Session(handrail.Options(cli_path=cli, **options)) as session:
        yield session
