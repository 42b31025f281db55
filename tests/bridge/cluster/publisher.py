"""A machine in a process of its own that appends to three sessions for ever. In: a folder, a server, an epoch and
whether its sessions move. Out: of each append that was acknowledged its session, first number and word, a line each."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import nats

from handrail.bridge.store.base import Receipt
from tests.bridge.cluster.machine import living, new

SESSIONS = ("s0", "s1", "s2")


async def main(folder: str, url: str, epoch: str, moves: str) -> None:
    js = (await nats.connect(url)).jetstream()
    async with living(Path(folder), js, moves=moves == "moves") as machine:

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
