"""End to end over real sockets: from the login link to the answer of a model."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tests.bridge.serving import running


async def test_browser_logs_in_by_link_and_has_a_conversation(tmp_path: Path):
    async with running(tmp_path) as server, server.browser() as browser:
        ticket = (await browser.post("/api/tickets")).json()["ticket"]
        cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        options = {"headers": {"Cookie": cookie}, "origin": server.address}
        async with server.socket(subprotocols=["handrail.v1", f"ticket.{ticket}"], **options) as socket:

            async def say(**fields: object) -> None:
                await socket.send(json.dumps(fields))

            async def hear(kind: str) -> dict:
                async with asyncio.timeout(20):
                    while (message := json.loads(await socket.recv()))["type"] != kind:
                        pass
                return message

            await say(type="hello", protocol=1)
            assert (await hear("hello"))["scopes"] == ["admin", "approve", "prompt", "view"]
            await say(type="command", id="1", command="start", fields={"cwd": str(tmp_path / "work")})
            id = (await hear("receipt"))["result"]["session"]["id"]
            await say(type="subscribe", session=id)
            await say(type="command", id="2", command="send", fields={"session": id, "text": "hello"})
            kinds: list[str] = []
            while "result" not in kinds:
                message = await hear("events")
                kinds += [event["data"].get("type") for event in message["events"] if event["kind"] == "frame"]
        assert socket.subprotocol == "handrail.v1"
        listed = (await browser.get("/api/sessions")).json()["sessions"]
        assert [one["id"] for one in listed] == [id]
        page = (await browser.get(f"/api/sessions/{id}/events")).json()
        assert [event["seq"] for event in page["events"]] == list(range(1, page["last"] + 1))
