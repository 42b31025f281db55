"""An executable CLI that plays a script, written in Python by a test.

    cli = write_cli(folder, '''
        prompt()
        say(assistant("Hello"))
        say(result("Hello"))
    ''')

The names below are the script's words. `initialize` is answered by itself, and when the script has ended every control
request is granted until the input ends. As a program it imports only the standard library: it runs as `python -I -S`.
"""

from __future__ import annotations

import json
import os
import sys

Json = dict[str, object]

SESSION = "00000000-0000-4000-8000-000000000001"
handshake: Json = {}
"""The fields of `initialize`, once received."""
uuids: list[str] = []
"""The prompts of the running turn."""


def write_cli(folder: os.PathLike[str] | str, script: str) -> str:
    """Write the executable for a script and return its path."""
    from textwrap import dedent

    path = os.path.join(folder, f"cli-{len(os.listdir(folder))}")
    with open(f"{path}.script", "w") as file:
        file.write(dedent(script))
    with open(path, "w") as file:
        file.write(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{os.path.abspath(__file__)}" "$0.script" "$@"\n')
    os.chmod(path, 0o700)
    return path


def say_raw(*lines: str) -> None:
    """Write raw lines with one system call."""
    sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode())
    sys.stdout.buffer.flush()


def say(*lines: Json) -> None:
    """Write lines with one system call."""
    say_raw(*(json.dumps(line, separators=(",", ":")) for line in lines))


def hear() -> Json:
    """Read the next line; answers `initialize` on the way. The script ends at end of input."""
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            raise SystemExit(0)
        heard = json.loads(line)
        request = heard.get("request", {})
        if request.get("subtype") != "initialize":
            return heard
        handshake.update(request)
        answer(heard, {"commands": [], "agents": [], "models": [], "account": {}})


def prompt() -> str:
    """Read the next prompt, begin its turn and return its content."""
    heard = hear()
    assert heard["type"] == "user", heard
    uuid = str(heard["uuid"])
    uuids[:] = [uuid]
    for state in ("queued", "started"):
        say({"type": "command_lifecycle", "command_uuid": uuid, "state": state, "session_id": SESSION})
    say({"type": "system", "subtype": "init", "session_id": SESSION, "model": "m", "tools": [], "mcp_servers": []})
    message = heard["message"]
    assert isinstance(message, dict)
    return str(message["content"])


def requested(subtype: str) -> Json:
    """Read the next line, which must be this control request."""
    heard = hear()
    request = heard["request"]
    assert isinstance(request, dict), heard
    assert request["subtype"] == subtype, heard
    return heard


def answer(request: Json, payload: Json | None = None) -> None:
    """Grant a control request."""
    body = {"subtype": "success", "request_id": request["request_id"], "response": payload or {}}
    say({"type": "control_response", "response": body})


def refuse(request: Json, error: str, **fields: object) -> None:
    """Refuse a control request."""
    body = {"subtype": "error", "request_id": request["request_id"], "error": error, **fields}
    say({"type": "control_response", "response": body})


def ask(subtype: str, **fields: object) -> Json:
    """Send a control request and return the `response` of its answer."""
    id = f"cli-{subtype}"
    say({"type": "control_request", "request_id": id, "request": {"subtype": subtype, **fields}})
    response = hear()["response"]
    assert isinstance(response, dict)
    assert response["request_id"] == id
    return response


def permission(name: str = "Bash", **input: object) -> Json:
    """The fields of `can_use_tool`."""
    return {"tool_name": name, "input": input, "tool_use_id": "toolu_1", "permission_suggestions": []}


def partial(text: str = "word ") -> Json:
    """A text delta."""
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    return {"type": "stream_event", "event": event, "session_id": SESSION, "parent_tool_use_id": None, "uuid": "p"}


def assistant(*content: str | Json) -> Json:
    """An assistant line from texts and blocks."""
    blocks = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": blocks, "usage": {}}
    return {"type": "assistant", "message": message, "parent_tool_use_id": None, "session_id": SESSION, "uuid": "a"}


def result(text: object = "done", **fields: object) -> Json:
    """The result of the running turn."""
    return {
        "subtype": "success",
        "is_error": False,
        "result": text if isinstance(text, str) else json.dumps(text),
        "duration_ms": 1,
        "duration_api_ms": 1,
        "num_turns": 1,
        "session_id": SESSION,
        "total_cost_usd": 0,
        "usage": {},
        "user_message_uuids": list(uuids),
        **fields,
        "type": "result",
    }


def failure(subtype: str, *errors: str, **fields: object) -> Json:
    """The result of a failed turn, which has `errors` instead of `result`."""
    ended = result(subtype=subtype, is_error=True, errors=errors, **fields)
    return {name: value for name, value in ended.items() if name != "result"}


def main() -> None:
    """Play the script, then grant all control requests."""
    with open(sys.argv[1]) as file:
        exec(compile(file.read(), sys.argv[1], "exec"), globals())
    while True:
        heard = hear()
        if heard["type"] == "control_request":
            answer(heard)


if __name__ == "__main__":
    main()
