"""Reads a turn only after its end, and prints memory. Arguments: path of the CLI, number of messages."""

import asyncio
import json
import resource
import sys

import handrail


def resident() -> int:
    """Resident memory of this process in bytes; its peak if the system does not report the current value."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


async def main(cli: str, count: str) -> None:
    """A short turn as warm-up, then the turn that stays unread."""
    options = handrail.Options(cli_path=cli, include_partial_messages=True)
    async with handrail.Session(options) as session:
        async for _ in await session.send("1000"):
            pass
        before = resident()
        turn = await session.send(count)
        await turn
        unread, messages, length = resident(), 0, 0
        async for message in turn:
            messages += 1
            if message.type == "stream_event":
                length += len(message.event.delta.text)
        figures = {"messages": messages, "length": length, "before": before, "unread": unread, "after": resident()}
    print(json.dumps(figures))


asyncio.run(main(*sys.argv[1:]))
