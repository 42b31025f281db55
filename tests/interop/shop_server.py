"""An MCP server on stdio that asks the user before it accepts an order. Run as a script."""

from __future__ import annotations

import json
import sys
from typing import Any

ORDER = {"name": "order", "description": "Order an item", "inputSchema": {"type": "object", "properties": {"item": {}}}}
SIZE = {"type": "object", "properties": {"size": {"type": "string"}}, "required": ["size"]}
ASK = {"message": "Which size?", "requestedSchema": SIZE}


def say(**fields: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **fields}), flush=True)


def order(item: str) -> dict[str, Any]:
    say(id="question", method="elicitation/create", params=ASK)
    answer = json.loads(sys.stdin.readline())["result"]
    size = answer.get("content", {}).get("size")
    return {"content": [{"type": "text", "text": f"{item}: {answer['action']} {size}"}]}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        params = request.get("params", {})
        if request.get("method") == "initialize":
            about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "shop", "version": "1"}}
            say(id=request["id"], result={"protocolVersion": params["protocolVersion"], **about})
        elif request.get("method") == "tools/list":
            say(id=request["id"], result={"tools": [ORDER]})
        elif request.get("method") == "tools/call":
            say(id=request["id"], result=order(params["arguments"]["item"]))


if __name__ == "__main__":
    main()
