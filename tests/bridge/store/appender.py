"""A program that appends events to a store until it is killed, and prints the first number of each acknowledged append.

Arguments: the path of the store, and a name that makes its commands unique.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from handrail.bridge.store import event_log as sqlite
from handrail.bridge.store.base import NewEvent, Receipt
from handrail.bridge.store.database import Database


async def main(path: str, name: str) -> None:
    """Append without end, from eight tasks."""
    log = sqlite.SqliteEventLog(Database(Path(path), sqlite.TABLES))

    async def append(worker: int) -> None:
        n = 0
        while True:
            n += 1
            command = f"{name}-{worker}-{n}"
            added = await log.append("s", [NewEvent("frame", b'"%s"' % command.encode())] * 3, Receipt(command, b"1"))
            sys.stdout.write(f"{added[0].seq} {command}\n")
            sys.stdout.flush()

    await asyncio.gather(*map(append, range(8)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
