"""A CLI that writes timestamped lines at the rate given by the prompt, such as `live 200 2`.

A prompt has three words: `live` (stream events) or `kept` (lines that are persisted), the number of lines, and the
milliseconds between them. With `--say "live 200 2"` it writes these without a prompt and exits. It is run with
`python -I -S`, so it imports only the standard library.
"""

import json
import os
import sys
import time


def say(*lines):
    """Write lines with one system call."""
    os.write(1, "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode())


def stream(event):
    """A stream event."""
    return {"type": "stream_event", "event": event, "session_id": "s", "parent_tool_use_id": None, "uuid": "u"}


def speak(words):
    """Write the lines for a prompt."""
    kind, many, pause = words.split()
    if kind == "live":
        say(stream({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}))
        say(stream({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}))
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "some words "}}
    end = time.monotonic()
    for number in range(int(many)):
        line = stream(delta) if kind == "live" else {"type": "novelty", "number": number, "session_id": "s"}
        line["at"] = time.monotonic_ns()
        view = memoryview((json.dumps(line, separators=(",", ":")) + "\n").encode())
        while view:
            view = view[os.write(1, view) :]
        end += int(pause) / 1000
        time.sleep(max(0, end - time.monotonic()))
    if kind == "live":
        say(stream({"type": "message_stop"}))


def main():
    """Answer control requests and prompts."""
    if "--say" in sys.argv:
        speak(sys.argv[sys.argv.index("--say") + 1])
        return
    for data in sys.stdin.buffer:
        line = json.loads(data)
        if line["type"] == "control_request":
            payload = {"commands": [], "agents": [], "models": [], "account": {}}
            body = {"subtype": "success", "request_id": line["request_id"], "response": payload}
            say({"type": "control_response", "response": body})
        elif line["type"] == "user":
            state = {"type": "command_lifecycle", "command_uuid": line["uuid"], "session_id": "s"}
            say({**state, "state": "queued"}, {**state, "state": "started"})
            say({"type": "system", "subtype": "init", "session_id": "s", "model": "m", "tools": []})
            speak(line["message"]["content"])
            common = {"is_error": False, "num_turns": 1, "duration_ms": 1, "duration_api_ms": 1, "usage": {}}
            end = {"type": "result", "subtype": "success", "result": "", "session_id": "s", "total_cost_usd": 0.0}
            say({**state, "state": "completed"}, {**end, **common, "user_message_uuids": [line["uuid"]]})


if __name__ == "__main__":
    main()
