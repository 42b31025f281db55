"""A process that writes events and records of one session, and kills itself right after a commit.

Arguments: data folder, URL of the NATS server, epoch, and the number of the commit (counted from the first write) after
which it is killed. It prints the last event number of each acknowledged write.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import nats

from handrail.bridge.cluster.store.cluster_index import ClusterIndex
from handrail.bridge.cluster.store.session_index import JetStreamSessionIndex
from handrail.bridge.cluster.store.session_writer import ClusterSessionWriter
from handrail.bridge.store.base import Receipt, SessionRecord
from handrail.bridge.store.database import Database
from handrail.bridge.store.session_index import SqliteSessionIndex
from tests.bridge.cluster.machine_store import new, open_store

T = TypeVar("T")


def kill_after_commit(database: Database, number: int) -> None:
    """Kill this process as soon as the caller of a transaction learns of its commit."""
    change_all, count = database.change_all, 0

    async def counted(works: Sequence[Callable[[sqlite3.Connection], T]]) -> list[T | BaseException]:
        nonlocal count
        found = await change_all(works)
        count += 1
        if count == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    database.change_all = counted


async def main(folder: str, url: str, epoch: str, number: str) -> None:
    js = (await nats.connect(url)).jetstream()
    async with open_store(Path(folder), js) as machine:
        index = ClusterIndex(
            SqliteSessionIndex(machine.database),
            JetStreamSessionIndex(js),
            machine.held,
            "a",
            database=machine.database,
            outbox=machine.outbox,
        )
        writer = ClusterSessionWriter(machine.log, index)
        await machine.adopt("s", int(epoch))
        last = (await machine.local.bounds("s")).last
        kill_after_commit(machine.database, int(number))
        while True:
            last += 2
            record = SessionRecord(id="s", cwd="/", created=1, changed=last, settled=last)
            await writer.write("s", new("x", "y"), record, Receipt(f"c{last}", b"1"))
            sys.stdout.write(f"{last}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
