"""Lets a turn run to its end before it reads any of it. In: the CLI's path, how many messages. Out: JSON: memory."""

import asyncio
import json
import resource
import sys

import handrail


def resident() -> int:
    """The memory of this process, in bytes: now where the system says so, else its highest."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


async def main(cli: str, count: str) -> None:
    """One turn of a few messages, so that everything is loaded; then the one that is not read."""
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
