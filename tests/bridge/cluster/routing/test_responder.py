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
from tests.bridge.cluster.initialized_cluster import TIMEOUT, initialized_cluster
from tests.bridge.stage import SCOPES, one_server


def start(key: str, folder: Path) -> bytes:
    fields = msgspec.json.encode({"cwd": str(folder)})
    return encode(Do(key, "Ann", sorted(SCOPES), "start", fields))


class ReplayLogged(logging.Handler):
    """Sets `seen` when the rejection of a replayed message is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if "replayed as a request" in record.getMessage():
            self.seen.set()


async def test_message_delivered_by_jetstream_is_not_a_request(tmp_path: Path) -> None:
    """A runner can store any bytes as an event and let a consumer deliver them to any subject."""
    async with (
        asyncio.timeout(TIMEOUT),
        initialized_cluster(tmp_path / "c") as cluster,
        cluster.connect("gateway") as gateway,
        cluster.connect("runner") as good,
        cluster.connect("runner") as bad,
        one_server(tmp_path / "stage") as on,
    ):
        handler = ReplayLogged()
        logging.getLogger("handrail.bridge").addHandler(handler)
        for link in (gateway, good, bad):
            await link.until_up(TIMEOUT)
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
        await handler.seen.wait()
        assert await on.bridge.sessions.index.list() == []
        asked = await gateway.nats.request(
            names.node_subject("good"), start("true", tmp_path / "stage"), timeout=TIMEOUT
        )
        assert b'"ok":true' in asked.data
        assert len(await on.bridge.sessions.index.list()) == 1
        await responder.close()
    logging.getLogger("handrail.bridge").removeHandler(handler)
