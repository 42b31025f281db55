"""Archives and tags are shared with the official TypeScript SDK; a prewarmed session answers with the real CLI."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail import archive_session, startup, tag_session, unarchive_session
from handrail.testing import Lab, text
from handrail.transcripts import find_session
from tests.interop.scenario import LIMIT, Model, SessionOptions

HERE = Path(__file__).parent
SDK = os.environ.get("HANDRAIL_TYPESCRIPT_SDK", "")
"""Read at import: the tests themselves run without such variables."""


@pytest.fixture
def node() -> str:
    if not Path(SDK).is_file():
        pytest.fail(f"HANDRAIL_TYPESCRIPT_SDK names no file ({SDK!r}): run `make interop`", pytrace=False)
    found = shutil.which("node") or shutil.which("node", path=Path(sys.executable).parent)
    assert found, "node is neither on PATH nor beside this Python"
    return found


@pytest.fixture
async def session_id(model: Model, session_options: SessionOptions) -> str:
    """A session of the real CLI, prewarmed."""
    async with asyncio.timeout(LIMIT):
        warm = await startup(session_options(model(text("Hello."))))
        async with warm.claim() as session:
            assert (await session.ask("hi")).text == "Hello."
            return session.id


async def official(lab: Lab, node: str, function: str, *arguments: Any) -> Any:
    """Call a function of the TypeScript SDK in the lab."""
    child = await asyncio.create_subprocess_exec(
        *(node, str(HERE / "official_typescript" / "session_files.mjs"), function, *map(json.dumps, arguments)),
        cwd=lab.project,
        env=lab.environment(HANDRAIL_TYPESCRIPT_SDK=SDK),
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(LIMIT):
        output, _ = await child.communicate()
    assert child.returncode == 0
    return json.loads(output)


async def test_the_typescript_sdk_reads_our_archive_and_tag(lab: Lab, node: str, session_id: str):
    home = lab.home / ".claude"
    archive_session(session_id, config_home=home)
    tag_session(session_id, "kept", config_home=home)
    info = await official(lab, node, "getSessionInfo", session_id)
    assert (info["archived"], info["tag"]) == (True, "kept")
    unarchive_session(session_id, config_home=home)
    tag_session(session_id, None, config_home=home)
    info = await official(lab, node, "getSessionInfo", session_id)
    assert (info["archived"], info.get("tag")) == (False, None)


async def test_we_read_the_archive_and_the_tag_of_the_typescript_sdk(lab: Lab, node: str, session_id: str):
    await official(lab, node, "archiveSession", session_id)
    await official(lab, node, "tagSession", session_id, "kept")
    info = find_session(session_id, lab.home / ".claude")
    assert (info.archived, info.tag) == (True, "kept")
    await official(lab, node, "unarchiveSession", session_id)
    await official(lab, node, "tagSession", session_id, None)
    info = find_session(session_id, lab.home / ".claude")
    assert (info.archived, info.tag) == (False, None)
