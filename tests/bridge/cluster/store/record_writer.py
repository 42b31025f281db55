"""A process that writes events and records of one session until it is killed.

Arguments: data folder, URL of the NATS server, epoch. It prints the last event number of each acknowledged write.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import nats

from handrail.bridge.cluster.store.index import ClusterIndex
from handrail.bridge.cluster.store.session_index import JetStreamSessionIndex
from handrail.bridge.cluster.store.session_writer import ClusterSessionWriter
from handrail.bridge.store.events_base import Receipt
from handrail.bridge.store.index_base import SessionRecord
from handrail.bridge.store.session_index import SqliteSessionIndex
from tests.bridge.cluster.machine import living, new


async def main(folder: str, url: str, epoch: str) -> None:
    js = (await nats.connect(url)).jetstream()
    async with living(Path(folder), js) as machine:
        index = ClusterIndex(
            SqliteSessionIndex(machine.database),
            JetStreamSessionIndex(js),
            machine.held,
            "a",
            database=machine.database,
            outbox=machine.outbox,
        )
        writer = ClusterSessionWriter(machine.database, machine.log, index)
        await machine.adopt("s", int(epoch))
        last = (await machine.local.bounds("s")).last
        while True:
            last += 2
            record = SessionRecord(id="s", cwd="/", created=1, changed=last, settled=last)
            await writer.write("s", new("x", "y"), record, Receipt(f"c{last}", b"1"))
            sys.stdout.write(f"{last}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
