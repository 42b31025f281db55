"""Options for a scripted CLI; see tests/client/scripted_cli.py for the script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from handrail.claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient
from tests.client.scripted_cli import write_cli

PATIENCE = 60
"""Seconds; only a hang takes this long, since no test waits for time to pass."""


def scripted(folder: Path, script: str, **options: Any) -> ClaudeAgentOptions:
    """Options that start a CLI with this script."""
    return ClaudeAgentOptions(cli_path=write_cli(folder, script), **options)


@asynccontextmanager
async def scripted_client(folder: Path, script: str, **options: Any) -> AsyncIterator[ClaudeSDKClient]:
    """A connected client; anything still waiting after the limit fails."""
    async with asyncio.timeout(PATIENCE), ClaudeSDKClient(scripted(folder, script, **options)) as client:
        yield client
