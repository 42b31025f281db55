"""A process that appends to three sessions until it is killed.

Arguments: data folder, URL of the NATS server, epoch, and `moves` or `stays`. It prints a line with the session, the
first event number and the word of each acknowledged append.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import nats

from handrail.bridge.store.base import Receipt
from tests.bridge.cluster.machine_store import new, open_store

SESSIONS = ("s0", "s1", "s2")


async def main(folder: str, url: str, epoch: str, moves: str) -> None:
    js = (await nats.connect(url)).jetstream()
    async with open_store(Path(folder), js, moves=moves == "moves") as machine:

        async def append(session: str, worker: int) -> None:
            n = 0
            while True:
                n += 1
                word = f"{epoch}-{worker}-{n}"
                added = await machine.log.append(session, new(word, word), Receipt(f"{session}-{word}", b"1"))
                sys.stdout.write(f"{session} {added[0].seq} {word}\n")
                sys.stdout.flush()

        await asyncio.gather(*(machine.adopt(session, int(epoch)) for session in SESSIONS))
        await asyncio.gather(*(append(session, worker) for session in SESSIONS for worker in range(3)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
