"""More functions for scripted CLIs (see tests/client/scripted_cli.py), as source text for the start of a script."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

from tests.client.scripted_cli import write_cli

WORDS = '''
def event(**fields):
    say({"type": "stream_event", "event": fields, "session_id": SESSION, "parent_tool_use_id": None, "uuid": "p"})

def stream(*pieces, kind="text", id="msg_1"):
    event(type="message_start", message={"id": id, "role": "assistant", "content": []})
    event(type="content_block_start", index=0, content_block={"type": kind, kind: ""})
    for piece in pieces:
        event(type="content_block_delta", index=0, delta={"type": kind + "_delta", kind: piece})
    event(type="content_block_stop", index=0)

def use(name, id="toolu_1", **input):
    return {"type": "tool_use", "id": id, "name": name, "input": input}

def used(text, id="toolu_1", is_error=False, detail=None, parent=None):
    block = {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error}
    line = {"type": "user", "message": {"role": "user", "content": [block]}, "parent_tool_use_id": parent}
    say({**line, "session_id": SESSION, "uuid": "u", **({} if detail is None else {"tool_use_result": detail})})

def decide(name="Bash", suggestions=(), id="toolu_1", **input):
    """Ask for a permission and give what the client answered to the test."""
    fields = {"tool_name": name, "input": input, "tool_use_id": id, "permission_suggestions": list(suggestions)}
    response = ask("can_use_tool", **fields)["response"]
    tell(response)
    return response

def wait_for_go():
    """Wait until the test says go_on; a pipe, so that nobody has to poll."""
    with open(sys.argv[1] + ".go", "rb") as pipe:
        pipe.read()

def tell(value):
    with open(sys.argv[1] + ".told", "a") as file:
        file.write(json.dumps(value) + "\\n")
'''


def cli(folder: Path, script: str) -> str:
    """Write a script as an executable CLI into a folder. Returns its path."""
    path = write_cli(folder, WORDS + textwrap.dedent(script))
    os.mkfifo(f"{path}.script.go")
    return path


def go_on(path: str) -> None:
    """Let a CLI go on that waits for it."""
    with open(f"{path}.script.go", "wb"):
        pass


def told(path: str) -> list[object]:
    """What a CLI's script told the test."""
    import json

    return [json.loads(line) for line in Path(f"{path}.script.told").read_text().splitlines()]
