"""A CLI that writes N partial messages as fast as the pipe accepts them, for a prompt N.

It only copies prepared blocks, so that the reader is the bottleneck. It is run with `python -I -S`, so it imports only
the standard library.
"""

import json
import os
import sys

BLOCK = 500
SESSION = "d9a09037-a518-4a62-81a5-5d8781e3f357"
INIT = {
    "type": "system",
    "subtype": "init",
    "session_id": SESSION,
    "claude_code_version": "2.1.325",
    "cwd": "/",
    "tools": [],
    "mcp_servers": [],
    "model": "m",
    "permissionMode": "default",
    "slash_commands": [],
    "apiKeySource": "none",
    "output_style": "default",
    "uuid": "94ee97c4-61ed-4a49-b0fe-000000000000",
}
RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "done",
    "duration_ms": 1,
    "duration_api_ms": 1,
    "num_turns": 1,
    "session_id": SESSION,
    "total_cost_usd": 0.1,
    "usage": {},
    "uuid": "94ee97c4-61ed-4a49-b0fe-ffffffffffff",
}
HANDSHAKE = {"commands": [], "agents": [], "models": [], "account": {}}


def line_of(fields: dict[str, object]) -> bytes:
    """One compact line, as the real CLI writes it."""
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def partial(number: int) -> bytes:
    """One text delta, with varying length."""
    text = ("word and ", "so ", "on, with 7 words to it ", "", "1 ")[number % 5] + "x" * (number % 7)
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    return line_of(
        {
            "type": "stream_event",
            "event": event,
            "session_id": SESSION,
            "parent_tool_use_id": None,
            "uuid": f"94ee97c4-61ed-4a49-b0fe-{number:012x}",
        }
    )


PARTIALS = [partial(number) for number in range(BLOCK)]


def write(data: bytes) -> None:
    """Write everything, even if the pipe accepts only parts."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def flood(count: int) -> None:
    """Play a turn of `count` partial messages."""
    write(line_of(INIT))
    block = b"".join(PARTIALS)
    for _ in range(count // BLOCK):
        write(block)
    write(b"".join(PARTIALS[: count % BLOCK]) + line_of(RESULT))


def main() -> None:
    """Answer until the input ends."""
    for line in sys.stdin.buffer:
        said = json.loads(line)
        if said["type"] == "control_request":
            body = {"subtype": "success", "request_id": said["request_id"], "response": HANDSHAKE}
            write(line_of({"type": "control_response", "response": body}))
        elif said["type"] == "user":
            flood(int(said["message"]["content"]))


if __name__ == "__main__":
    main()
