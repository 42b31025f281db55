"""Takes a flood and throws it away: how fast the child is. In: the CLI's path, how many messages. Out: JSON: time."""

import json
import os
import subprocess
import sys
import time

CHUNK = 256 * 1024


def main(cli: str, count: str) -> None:
    """One turn, every byte read and none looked at."""
    with subprocess.Popen([cli], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin and child.stdout
        prompt = {"type": "user", "message": {"role": "user", "content": count}}
        wall = time.perf_counter()
        child.stdin.write(json.dumps(prompt).encode() + b"\n")
        child.stdin.close()
        while os.read(child.stdout.fileno(), CHUNK):
            pass
        wall = time.perf_counter() - wall
    print(json.dumps({"wall": wall}))


main(*sys.argv[1:])
