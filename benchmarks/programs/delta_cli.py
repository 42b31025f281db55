"""A CLI that streams answers as deltas at an even rate, for prompts `DELTAS PER_SECOND PER_MESSAGE`.

Answers are Markdown as models write it. With 0 per second it writes as fast as the pipe accepts. It is run with
`python -I -S`, so it imports only the standard library.
"""

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

SESSION = "d9a09037-a518-4a62-81a5-5d8781e3f358"
PARAGRAPH = (
    "The function reads *one line* after another, and `parse` splits it at the first colon: the part before it is "
    "the name, the rest is the value. Lines without a colon are **skipped** and counted. "
)
CODE = "\n\n```python\ndef parse(line: str) -> tuple[str, str]:\n    name, _, value = line.partition(':')\n```\n\n"
LIST = "\n\n- first the names\n- then the values\n- last the skipped lines\n\n"
TEXT = (PARAGRAPH * 2 + CODE + PARAGRAPH + LIST) * 40
PIECES = [TEXT[start : start + 4] for start in range(0, len(TEXT), 4)]
"""An English token has about four characters."""


def write(**fields: Any) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps({**fields, "session_id": SESSION}, separators=(",", ":")) + "\n")


def stream(message: str, event: dict[str, Any]) -> None:
    """Write one stream event."""
    write(type="stream_event", event=event, api_message_id=message, parent_tool_use_id=None)


def paced(count: int, per_second: float) -> Iterator[int]:
    """Yield numbers at an even rate; output is flushed only before a pause."""
    begun = time.monotonic()
    for number in range(count):
        if per_second and (wait := begun + number / per_second - time.monotonic()) > 0.001:
            sys.stdout.flush()
            time.sleep(wait)
        yield number


def answer(prompt: str, turn: int) -> None:
    """Play one turn."""
    count, per_second, per_message = (float(word) for word in prompt.split())
    write(type="system", subtype="init", model="m", permissionMode="default", tools=[], uuid=f"i{turn}")
    said: list[str] = []
    message = ""
    for number in paced(int(count), per_second):
        if not said:
            message = f"m{turn}-{number}"
            stream(message, {"type": "message_start", "message": {"id": message, "content": []}})
            block = {"type": "text", "text": ""}
            stream(message, {"type": "content_block_start", "index": 0, "content_block": block})
        said.append(PIECES[number % int(per_message) % len(PIECES)])
        delta = {"type": "text_delta", "text": said[-1]}
        stream(message, {"type": "content_block_delta", "index": 0, "delta": delta})
        if len(said) == per_message or number + 1 == count:
            content = [{"type": "text", "text": "".join(said)}]
            write(type="assistant", message={"id": message, "role": "assistant", "content": content}, uuid=message)
            stream(message, {"type": "content_block_stop", "index": 0})
            stream(message, {"type": "message_stop"})
            said = []
    write(type="result", subtype="success", is_error=False, result="", duration_ms=1, total_cost_usd=0, uuid=f"r{turn}")


def main() -> None:
    """Answer control requests and prompts."""
    if "--version" in sys.argv or "-v" in sys.argv:
        print("2.1.325 (Claude Code)")
        return
    turn = 0
    for line in sys.stdin:
        received = json.loads(line)
        if received["type"] == "control_request":
            body: dict[str, Any] = {"commands": [], "agents": [], "models": [], "account": {}}
            response: dict[str, Any] = {"subtype": "success", "request_id": received["request_id"], "response": body}
            sys.stdout.write(json.dumps({"type": "control_response", "response": response}) + "\n")
        elif received["type"] == "user":
            turn += 1
            content = received["message"]["content"]
            answer(content if isinstance(content, str) else content[0]["text"], turn)
        sys.stdout.flush()


main()
