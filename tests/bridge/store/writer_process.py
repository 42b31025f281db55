"""A program that writes a session until it is killed, and prints the first number of each acknowledged write.

Arguments: the path of the store, and a name that makes its commands unique.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from handrail.bridge.store import event_log, session_index
from handrail.bridge.store.base import NewEvent, Receipt, SessionRecord
from handrail.bridge.store.database import Database
from handrail.bridge.store.session_index import SqliteSessionWriter


async def main(path: str, name: str) -> None:
    """Write without end, from eight tasks: three events, a record and a receipt each, all with the same command."""
    writer = SqliteSessionWriter(Database(Path(path), event_log.TABLES, session_index.TABLES))

    async def write(worker: int) -> None:
        n = 0
        while True:
            n += 1
            command = f"{name}-{worker}-{n}"
            record = SessionRecord(id="s", cwd="/work", created=1, changed=1, title=command)
            events = [NewEvent("frame", b'"%s"' % command.encode())] * 3
            added = await writer.write("s", events, record, Receipt(command, b"1"))
            sys.stdout.write(f"{added[0].seq} {command}\n")
            sys.stdout.flush()

    await asyncio.gather(*map(write, range(8)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
