"""The page with the real CLI, in a real browser."""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

from handrail.testing import Lab, text, tool_use
from tests.interop.scenario import Model, bash
from tests.interop.test_bridge import serving

WEB = Path(__file__).parents[2] / "web"
LIMIT = 180


async def test_page_works_with_the_real_cli(model: Model, lab: Lab, cli: Path):
    edit = tool_use("Write", file_path=str(lab.project / "new.txt"), content="one\ntwo\n")
    held = bash("while [ ! -e go ]; do sleep 0.1; done; echo let go")
    replies = [text("I make a file."), bash("touch made")], text("Made."), edit, text("Written."), held, text("Free.")
    api = model(*replies, text("Still here."))
    with serving(lab, cli, api, "--cli", "claude") as lines:
        told = {
            "BROWSER_RUN": "browser/real-cli.run.ts",
            "HANDRAIL_LINK": lines[2].split()[-1],
            "HANDRAIL_FOLDER": str(lab.project),
        }
        command = [str(WEB / "node_modules/.bin/vitest"), "run", "--config", "vitest.browser.config.ts"]
        run = await asyncio.create_subprocess_exec(
            *command, cwd=WEB, env={**os.environ, **told}, stdout=PIPE, stderr=STDOUT
        )
        async with asyncio.timeout(LIMIT):
            said, _ = await run.communicate()
    assert run.returncode == 0, said.decode()
    assert (lab.project / "made").exists()
    assert (lab.project / "new.txt").read_text() == "one\ntwo\n"
