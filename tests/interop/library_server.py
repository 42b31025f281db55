"""An MCP server on stdio with prompts and resources, run as a script.

Its tool `publish` replaces the prompts and announces that. `--broken` makes it fail every list except that of tools.
"""

from __future__ import annotations

import json
import sys
from typing import Any

BROKEN = "--broken" in sys.argv
PUBLISH = {"name": "publish", "description": "Replaces the prompts", "inputSchema": {"type": "object"}}
PROMPTS = [
    {"name": "greet", "description": "Greets", "arguments": [{"name": "who", "required": True}, {"name": "how"}]},
    {"name": "memo", "description": "Quotes a memo"},
    {"name": "blank", "description": "Says nothing"},
]
RESOURCES = [
    {"uri": "note://one", "name": "one", "mimeType": "text/plain", "description": "The first note"},
    {"uri": "note://two", "name": "two", "title": "Second\u200b note"},
]
MEMO = {"uri": "note://one", "mimeType": "text/plain", "text": "MEMOTEXT"}


def say(**fields: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **fields}), flush=True)


def prompt(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    contents = {
        "greet": [{"type": "text", "text": f"GREETING {json.dumps(arguments)}"}],
        "memo": [{"type": "resource", "resource": MEMO}],
        "blank": [],
        "farewell": [{"type": "text", "text": "FAREWELL"}],
    }
    return {"messages": [{"role": "user", "content": content} for content in contents[name]]}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            able = {"tools": {}, "prompts": {"listChanged": True}, "resources": {}}
            about = {"capabilities": able, "serverInfo": {"name": "library", "version": "1"}}
            return {"protocolVersion": params["protocolVersion"], **about}
        case "tools/list":
            return {"tools": [PUBLISH]}
        case "tools/call":
            PROMPTS[:] = [{"name": "farewell", "description": "Says goodbye"}]
            say(method="notifications/prompts/list_changed")
            return {"content": [{"type": "text", "text": "published"}]}
        case "prompts/list" if not BROKEN:
            return {"prompts": PROMPTS}
        case "prompts/get":
            return prompt(params["name"], params.get("arguments", {}))
        case "resources/list" if not BROKEN:
            page = int(params.get("cursor", "0"))
            more = {"nextCursor": str(page + 1)} if page + 1 < len(RESOURCES) else {}
            return {"resources": RESOURCES[page : page + 1], **more}
        case "resources/read":
            return {"contents": [MEMO]}
        case _:
            raise LookupError(method)


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request or "method" not in request:
            continue
        try:
            say(id=request["id"], result=answer(request["method"], request.get("params") or {}))
        except LookupError as error:
            say(id=request["id"], error={"code": -32601, "message": f"not here: {error}"})


if __name__ == "__main__":
    main()
