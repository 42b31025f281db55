"""The end of all that was started."""

import asyncio
import os

from handrail.agent.tools.process_tree import end_all, marks, new_mark


async def test_what_any_command_left_behind_is_ended():
    process = await asyncio.create_subprocess_exec(
        "sleep", "1000", env={**os.environ, **marks(new_mark())}, start_new_session=True
    )
    end_all()
    async with asyncio.timeout(10):
        assert await process.wait() == -9


async def test_who_has_no_mark_is_left_alone():
    process = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE)
    assert process.stdin is not None
    end_all()
    process.stdin.close()
    async with asyncio.timeout(10):
        assert await process.wait() == 0
