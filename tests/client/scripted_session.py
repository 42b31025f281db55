"""A session with a scripted CLI. In: a folder, a script (see scripted_cli.py), options. Out: the session, running."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import handrail
from tests.client.scripted_cli import write_cli

PATIENCE = 60
"""Only a hang takes so long: no test waits for time to pass."""


@asynccontextmanager
async def scripted_session(folder: Path, script: str, **options: Any) -> AsyncIterator[handrail.Session]:
    """Open it; whoever still waits for something after a minute is told."""
    cli = write_cli(folder, script)
    async with asyncio.timeout(PATIENCE), handrail.Session(handrail.Options(cli_path=cli, **options)) as session:
        yield session
