"""Requests of the page to the real CLI through the bridge: information, files, effort, urgent messages, grants."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from handrail.testing import Lab, hang, text
from tests.interop.scenario import LIMIT, Model, bash
from tests.interop.test_bridge import client_of, is_result, serving


async def test_information_effort_and_output_style(model: Model, lab: Lab, cli: Path):
    (lab.project / "alpha.txt").write_text("x")
    with serving(lab, cli, model(text("Hello.")), "--cli", "claude") as lines:
        async with asyncio.timeout(LIMIT), client_of(lines) as client:
            chosen = {"cwd": str(lab.project), "output_style": "Concise", "effort": "low"}
            id = (await client.do("start", **chosen))["session"]["id"]
            about = await client.do("about", session=id)
            assert (about["running"], about["cli"], about["output_style"]) == (True, "claude", "Concise")
            assert all(about[name] for name in ("commands", "agents", "models", "output_styles", "version", "account"))
            assert about["effort"] == "low"
            await client.do("set_effort", session=id, effort="high")
            assert (await client.do("about", session=id))["effort"] == "high"
            assert (await client.do("mcp_status", session=id))["servers"] == []
            found = await client.do("file_suggestions", session=id, query="alph")
            assert found["files"][0] == {"path": "alpha.txt", "kind": "file"}


async def test_urgent_message_interrupts_the_turn_and_precedes_queued_ones(model: Model, lab: Lab, cli: Path):
    api = model([text("first"), hang()], text("urgent"), text("waited"))
    with serving(lab, cli, api, "--cli", "claude") as lines:
        async with asyncio.timeout(LIMIT), client_of(lines) as client:
            id = await client.follow((await client.do("start", cwd=str(lab.project)))["session"])
            await client.do("send", session=id, text="begin")
            await api.hanging()
            await client.do("send", session=id, text="this can wait")
            await client.do("send", session=id, text="this cannot", priority="now")
            assert (await client.until("frame", is_result))["terminal_reason"] == "aborted_streaming"
            api.release()
            assert (await client.until("frame", is_result, times=2))["result"] == "urgent"
            assert (await client.until("frame", is_result, times=3))["result"] == "waited"
            await client.state("idle")


async def test_suggestions_are_explained_and_can_be_granted(model: Model, lab: Lab, cli: Path):
    api = model(bash("touch one"), bash("touch one"), text("Done."))
    with serving(lab, cli, api, "--cli", "claude") as lines:
        async with asyncio.timeout(LIMIT), client_of(lines) as client:
            id = await client.follow((await client.do("start", cwd=str(lab.project)))["session"])
            await client.do("send", session=id, text="make a file, twice")
            asked = await client.until("asked")
            [rule] = [one for one in asked["suggestions"] if "touch one" in one["words"]]
            assert (rule["words"], rule["suggested"]) == ("every command that begins with `touch one`", "localSettings")
            grant = [{"index": rule["index"], "destination": "session"}]
            told = {"question": asked["question"], "hash": asked["hash"], "behavior": "allow", "updates": grant}
            await client.do("answer", session=id, **told)
            assert (await client.until("frame", is_result))["result"] == "Done."
            assert sum(event["kind"] == "asked" for event in client.events) == 1, json.dumps(asked["suggestions"])
