"""Requests between machines with the keys of their roles: a runner cannot pass for a gateway."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import msgspec
from nats.js.api import ConsumerConfig

from handrail.bridge.cluster.nats import names
from handrail.bridge.cluster.routing.knowledge import Knowledge
from handrail.bridge.cluster.routing.requests import Do, encode
from handrail.bridge.cluster.routing.responder import Responder
from handrail.bridge.cluster.store.layout import lay_out
from tests.bridge.cluster.founded import PATIENCE, founded
from tests.bridge.stage import SCOPES, one_server


def start(key: str, folder: Path) -> bytes:
    fields = msgspec.json.encode({"cwd": str(folder)})
    return encode(Do(key, "somebody", sorted(SCOPES), "start", fields))


class Told(logging.Handler):
    """Waits for something in the log."""

    def __init__(self) -> None:
        super().__init__()
        self.came = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if "replayed as a request" in record.getMessage():
            self.came.set()


async def test_what_jetstream_is_made_to_deliver_is_no_request(tmp_path: Path) -> None:
    """A runner may keep what it likes as an event and have it delivered anywhere: NATS does not look where."""
    async with (
        asyncio.timeout(PATIENCE),
        founded(tmp_path / "c") as cluster,
        cluster.link("gateway") as gateway,
        cluster.link("runner") as good,
        cluster.link("runner") as bad,
        one_server(tmp_path / "stage") as on,
    ):
        told = Told()
        logging.getLogger("handrail.bridge").addHandler(told)
        for link in (gateway, good, bad):
            await link.until_up(PATIENCE)
        await lay_out(gateway.js, 1)
        responder = Responder(
            good.nats,
            "good",
            do=on.bridge.commands.do_here,
            knowledge=Knowledge(on.bridge.router),
            answer_fetch=on.bridge._answer_fetch,
        )
        await responder.open()
        await good.nats.flush()
        await bad.js.publish(names.events_subject("s"), start("forged", tmp_path / "stage"))
        delivered = ConsumerConfig(deliver_subject=names.node_subject("good"))
        await bad.js.add_consumer(names.EVENTS, delivered)
        await told.came.wait()
        assert await on.bridge.sessions.index.list() == []
        asked = await gateway.nats.request(
            names.node_subject("good"), start("true", tmp_path / "stage"), timeout=PATIENCE
        )
        assert b'"ok":true' in asked.data
        assert len(await on.bridge.sessions.index.list()) == 1
        await responder.close()
    logging.getLogger("handrail.bridge").removeHandler(told)
