"""The message types of the native protocol match the implementation."""

from __future__ import annotations

import asyncio
import functools
import json
import operator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec

from handrail.bridge.configuration import Configuration
from handrail.bridge.server import Bridge
from handrail.bridge.session.events import KINDS
from handrail.bridge.store.base import SessionLine
from handrail.bridge.web.dialects import native
from handrail.bridge.web.dialects.native_messages import CLIENT, SERVER, Event, SessionShown
from handrail.model_access.choice import CliChoice, agent_path

PATIENCE = 30


def tags(messages: tuple[type[msgspec.Struct], ...]) -> set[str]:
    return {str(message.__struct_config__.tag) for message in messages}


def test_client_messages_match_the_server():
    assert tags(CLIENT) == set(native.Client._table)
    fields = {name for message in CLIENT for name in message.__struct_fields__}
    assert fields | {"type"} == set(native._Said.__struct_fields__)


def test_event_kinds_and_session_fields_match():
    kinds = get_args(get_type_hints(Event)["kind"])
    assert set(kinds) == {*KINDS, "live"}
    assert SessionLine.__struct_fields__ == SessionShown.__struct_fields__


class Wire:
    """An in-memory client: sends the messages put into `said` and collects the replies."""

    def __init__(self) -> None:
        self.said: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.received: asyncio.Queue[str] = asyncio.Queue()

    async def receive(self) -> str | None:
        said = await self.said.get()
        return None if said is None else json.dumps(said)

    async def send(self, text: str) -> None:
        self.received.put_nowait(text)

    async def close(self, code: int, reason: str) -> None:
        return


async def test_server_messages_have_known_types(tmp_path: Path):
    decode = msgspec.json.Decoder(functools.reduce(operator.or_, SERVER)).decode
    configuration = Configuration(cli=CliChoice.fixed(agent_path()), data=tmp_path / "data", roots=(tmp_path,))
    seen: set[str] = set()
    async with asyncio.timeout(PATIENCE), Bridge(configuration) as bridge:
        device, _ = await bridge.access.add_device("test", "program", ("view", "prompt", "admin"))
        wire = Wire()
        client = asyncio.create_task(native.Client(bridge, device, wire).run())

        async def until(wanted: str) -> Any:
            while True:
                message = decode(await wire.received.get())
                seen.add(str(message.__struct_config__.tag))
                if message.__struct_config__.tag == wanted:
                    return message

        def say(**message: Any) -> None:
            wire.said.put_nowait(message)

        say(type="hello", protocol=1)
        say(type="watch")
        say(type="visible", visible=True)
        say(type="ping")
        await until("heartbeat")
        say(type="subscribe", session="none")
        await until("error")
        say(type="command", id="1", command="start", fields={"cwd": str(tmp_path), "prompt": "hello"})
        session = (await until("receipt")).result["session"]["id"]
        say(type="subscribe", session=session)
        await until("subscribed")
        while not any(one.kind == "frame" and one.data["type"] == "result" for one in (await until("events")).events):
            pass
        say(type="command", id="2", command="delete", fields={"session": session})
        say(type="command", id="3", command="nothing")
        for _ in range(2):
            await until("receipt")
        wire.said.put_nowait(None)
        await client
    assert seen >= tags(SERVER) - {"resync"}
