"""An agent between an official SDK and `handrail acp`: validates our messages against the schema that the SDK ships.

    python checked_agent.py SCHEMA REPORT COMMAND [ARGS]...

SCHEMA is the JSON Schema in the package of the TypeScript SDK. Lines pass unchanged in both directions. REPORT gets a
JSON line for each message of the agent: its method, the kind of an update, and the violations.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from handrail.transport.process import ProcessTransport
from handrail.transport.stdio import StdioTransport


class SchemaCheck:
    """Finds the type of each message of an agent, and its violations."""

    def __init__(self, path: Path) -> None:
        self._schema = json.loads(path.read_text())
        self._methods: dict[Any, str] = {}
        self._validators: dict[str, Draft202012Validator] = {}
        self._types = {
            (kind, definition["x-method"]): name
            for name, definition in self._schema["$defs"].items()
            for kind in ("Request", "Response", "Notification")
            if name.endswith(kind) and definition.get("x-side") in ("agent", "client", "protocol")
        }

    def asked(self, message: dict[str, Any]) -> None:
        """Note a request of the client: answers lack the method."""
        if "method" in message and "id" in message:
            self._methods[json.dumps(message["id"])] = message["method"]

    def of(self, message: dict[str, Any]) -> dict[str, Any]:
        """The method of a message of the agent, the kind of an update, and the violations."""
        violations = [] if message.get("jsonrpc") == "2.0" else ["jsonrpc is not 2.0"]
        if "method" in message:
            kind = "Request" if "id" in message else "Notification"
            method, given = message["method"], message.get("params")
        else:
            kind, method = "Response", self._methods.get(json.dumps(message.get("id")), "")
            given = message.get("result")
            if "error" in message:
                violations += self._violations("Error", message["error"])
                return {"method": method, "kind": "error", "violations": violations}
        name = self._types.get((kind, method))
        violations += [f"{kind} {method} is not in the schema"] if name is None else self._violations(name, given)
        update = given.get("update", {}).get("sessionUpdate", "") if method == "session/update" else ""
        return {"method": method, "kind": update or kind, "violations": violations}

    def _violations(self, name: str, given: Any) -> list[str]:
        if name not in self._validators:
            schema = {"$ref": f"#/$defs/{name}", "$defs": self._schema["$defs"]}
            self._validators[name] = Draft202012Validator(schema)
        return [f"{error.json_path}: {error.message[:300]}" for error in self._validators[name].iter_errors(given)]


async def main(schema: str, report: str, *command: str) -> None:
    client, agent = StdioTransport(), ProcessTransport(list(command))
    check = SchemaCheck(Path(schema))
    await agent.start()
    passing = asyncio.create_task(to_client(agent, client, check, Path(report)))
    rest = b""
    while data := await client.receive():
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            check.asked(json.loads(line))
        await agent.send(data)
    await agent.end_input()
    await passing
    await agent.close()


async def to_client(agent: ProcessTransport, client: StdioTransport, check: SchemaCheck, report: Path) -> None:
    rest = b""
    with report.open("a") as file:
        while data := await agent.receive():
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                file.write(json.dumps(check.of(json.loads(line))) + "\n")
            file.flush()
            await client.send(data)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
