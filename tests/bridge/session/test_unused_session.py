"""A session without messages: its process may end, and the first message still starts the conversation."""

from __future__ import annotations

import asyncio
from pathlib import Path

from handrail.bridge.configuration import Configuration
from handrail.bridge.server import Bridge
from handrail.bridge.session.delivery import Prompt
from handrail.bridge.store.base import SessionRecord
from handrail.model_access.choice import CliChoice, agent_path

ID = "6c9a1d7e-0000-4000-8000-000000000002"


async def test_first_message_after_the_process_ended_is_answered(tmp_path: Path):
    configuration = Configuration(cli=CliChoice.fixed(agent_path()), data=tmp_path / "data", roots=(tmp_path,))
    async with asyncio.timeout(30), Bridge(configuration) as bridge:
        host = await bridge.sessions.add(SessionRecord(id=ID, cwd=str(tmp_path), created=1, changed=1))
        await host.start()
        assert host.in_use
        await host.stop()
        follower = host.feed.follow()
        await host.say("6c9a1d7e-0000-4000-8000-000000000003", Prompt("hello"), "test")
        while b'"subtype":"success"' not in follower.take():
            await follower.wait()
        follower.close()
        assert host.record.conversation == ID


async def test_starting_session_is_in_use(tmp_path: Path):
    configuration = Configuration(cli=CliChoice.fixed(agent_path()), data=tmp_path / "data", roots=(tmp_path,))
    async with asyncio.timeout(30), Bridge(configuration) as bridge:
        host = await bridge.sessions.add(SessionRecord(id=ID, cwd=str(tmp_path), created=1, changed=1))
        starting = asyncio.create_task(host.start())
        await asyncio.sleep(0)
        assert (host.running, host.in_use) == (False, True)
        await starting
