"""A CLI that writes what it was started with, and what it was told, to the file in $RECORD.

It grants every control request and answers every prompt with a result.
"""

import json
import os
import sys

PATHS = ("--mcp-config", "--settings")


def flags(argv: list[str]) -> dict[str, list[str | None]]:
    """The values of each flag, `--flag value` and `--flag=value` alike. The content of a file instead of its path."""
    found: dict[str, list[str | None]] = {}
    rest = list(argv)
    while rest:
        name, joined, value = rest.pop(0).partition("=")
        if not joined:
            value = rest.pop(0) if rest and not rest[0].startswith("--") else None
        if name in PATHS and value and os.path.isfile(value):
            with open(value) as file:
                value = file.read()
        found.setdefault(name, []).append(value)
    return found


def main() -> None:
    record = {"flags": flags(sys.argv[1:]), "env": dict(os.environ), "cwd": os.getcwd(), "lines": []}
    for line in sys.stdin:
        said = json.loads(line)
        record["lines"].append(said)
        if said["type"] == "control_request":
            answer = {"commands": [], "hook_on_failure_supported": True}
            response = {"subtype": "success", "request_id": said["request_id"], "response": answer}
            print(json.dumps({"type": "control_response", "response": response}), flush=True)
        elif said["type"] == "user":
            counts = {"duration_ms": 1, "duration_api_ms": 1, "num_turns": 1}
            ended = {"type": "result", "subtype": "success", "is_error": False, "session_id": "s", **counts}
            print(json.dumps(ended), flush=True)
    with open(os.environ["RECORD"], "w") as file:
        json.dump(record, file)


main()
