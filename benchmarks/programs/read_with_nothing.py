"""Reads a turn without parsing it, and prints the time. Arguments: path of the CLI, number of messages."""

import json
import os
import subprocess
import sys
import time

CHUNK = 256 * 1024


def main(cli: str, count: str) -> None:
    """Read and discard one turn; the clock starts when the child is ready."""
    hello = {"type": "control_request", "request_id": "r", "request": {"subtype": "initialize"}}
    prompt = {"type": "user", "message": {"role": "user", "content": count}}
    with subprocess.Popen([cli], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps(hello).encode() + b"\n")
        os.read(child.stdout.fileno(), CHUNK)
        wall = time.perf_counter()
        child.stdin.write(json.dumps(prompt).encode() + b"\n")
        child.stdin.close()
        while os.read(child.stdout.fileno(), CHUNK):
            pass
        wall = time.perf_counter() - wall
    print(json.dumps({"wall": wall}))


main(*sys.argv[1:])
