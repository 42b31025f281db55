"""Reads a turn with the least that any reader of this wire has to do, and prints counts, wall time and CPU time.

That is one read, one split and one decode of each line into Handrail's own type, without an event loop. Arguments: path
of the CLI, number of messages.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import msgspec

from handrail.schema.stream_events import StreamEvent

CHUNK = 64 * 1024
PARTIAL = b'{"type":"stream_event",'


def main(cli: str, count: str) -> None:
    """Read the text of one turn; the clock starts when the child is ready."""
    hello = {"type": "control_request", "request_id": "r", "request": {"subtype": "initialize"}}
    prompt = {"type": "user", "message": {"role": "user", "content": count}}
    with subprocess.Popen([cli], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps(hello).encode() + b"\n")
        out = child.stdout.fileno()
        os.read(out, CHUNK)
        decode = msgspec.json.Decoder(StreamEvent).decode
        wall, cpu, messages, length, rest = time.perf_counter(), time.process_time(), 0, 0, b""
        child.stdin.write(json.dumps(prompt).encode() + b"\n")
        child.stdin.close()
        while chunk := os.read(out, CHUNK):
            lines = (rest + chunk).split(b"\n")
            rest = lines.pop()
            for line in lines:
                messages += 1
                if line.startswith(PARTIAL):
                    length += len(decode(line).event.delta.text)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({"messages": messages, "length": length, "wall": wall, "cpu": cpu}))


main(*sys.argv[1:])
