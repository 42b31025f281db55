"""An ACP agent that plays a script, for tests of programs that drive ACP agents.

    python -m handrail.testing.scripted_acp_agent SCRIPT.json

The script is an object: `initialize` and `session` are merged into the answers to these requests, `turns` has a list of
steps for each prompt; after the last turn, prompts are echoed. `prompts` has the steps for a prompt by its text, which
also holds for an agent that was started again. A step is one of

    {"update": {...}}                     send a session/update
    {"ask": {...}, "allowed": [...], "rejected": [...], "cancelled": [...]}
                                          send session/request_permission, then play the steps for its outcome
    {"request": [METHOD, {...}]}          send a request, and its result or error as a message
    {"notify": [METHOD, {...}]}           send a notification as it is
    {"raw": TEXT}                         write a line as it is
    {"cancel": true}                      wait until the turn is cancelled
    {"hang": true}                        wait for ever
    {"stop": REASON, "usage": {...}}      end the turn
    {"fail": [CODE, MESSAGE]}             end the turn with an error
    {"exit": CODE}                        end the process

`pages` are the lists of sessions for session/list. Requests whose methods are listed in `hangs` are not answered. With
`"stays": true` neither the end of the input nor SIGTERM ends the agent. `$SESSION` and `$CWD` in texts stand for the id
and the folder of the session. Requests that the agent got are appended to the file of the variable ACP_AGENT_LOG, as
JSON lines.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, cast

from handrail.acp.rpc import METHOD_NOT_FOUND, NOT_FOUND, RpcError, RpcPeer
from handrail.transport.stdio import StdioTransport

__all__ = ["ScriptedAcpAgent", "chunk", "thought", "tool_call", "tool_update"]

JsonObject = dict[str, Any]


def chunk(text: str) -> JsonObject:
    """A step that sends a part of the answer."""
    return {"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}}


def thought(text: str) -> JsonObject:
    """A step that sends a part of a thought."""
    return {"update": {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": text}}}


def tool_call(id: str, title: str, **fields: Any) -> JsonObject:
    """A step that announces a tool call."""
    return {"update": {"sessionUpdate": "tool_call", "toolCallId": id, "title": title, "status": "pending", **fields}}


def tool_update(id: str, **fields: Any) -> JsonObject:
    """A step that changes a tool call."""
    return {"update": {"sessionUpdate": "tool_call_update", "toolCallId": id, **fields}}


class ScriptedAcpAgent:
    """Plays a script on a transport."""

    def __init__(self, transport: StdioTransport, script: JsonObject) -> None:
        self._transport, self._script = transport, script
        self._peer = RpcPeer(transport, self._answer, self._noticed)
        self._turns = list[Any](script.get("turns", ()))
        self._session, self._cwd, self._opened = "", "", 0
        self._cancelled = asyncio.Event()
        self._config = dict[str, str]()

    async def run(self) -> None:
        """Serve the client until it ends the connection."""
        await self._transport.start()
        if self._script.get("stays"):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        await self._peer.run()
        if self._script.get("stays"):
            await asyncio.Event().wait()

    def _noticed(self, method: str, params: Any) -> None:
        self._record(method, params)
        if method == "session/cancel":
            self._cancelled.set()

    def _record(self, method: str, params: Any) -> None:
        if path := os.environ.get("ACP_AGENT_LOG"):
            with open(path, "a") as file:
                file.write(json.dumps([method, params]) + "\n")

    async def _answer(self, method: str, params: Any) -> Any:
        self._record(method, params)
        if method in self._script.get("hangs", ()):
            await asyncio.Event().wait()
        match method:
            case "initialize":
                return {"protocolVersion": 1, "agentCapabilities": {}, **self._script.get("initialize", {})}
            case "session/new" | "session/fork":
                self._opened += 1
                self._session, self._cwd = f"agent-{os.getpid()}-{self._opened}", params["cwd"]
                self._later(self._script.get("opened", []))
                return {"sessionId": self._session, **self._script.get("session", {})}
            case "session/load" | "session/resume":
                if params["sessionId"] in self._script.get("unknown", ()):
                    raise RpcError(NOT_FOUND, f"no session {params['sessionId']}")
                self._session, self._cwd = params["sessionId"], params["cwd"]
                if method == "session/load":
                    await self._play(self._script.get("history", []))
                self._later(self._script.get("opened", []))
                return self._script.get("session", {})
            case "session/list":
                pages = self._script.get("pages", [[]])
                at = int(params.get("cursor") or 0)
                return {"sessions": pages[at], **({"nextCursor": str(at + 1)} if at + 1 < len(pages) else {})}
            case "session/set_mode" | "session/set_model":
                return {}
            case "session/set_config_option":
                options = self._script.get("session", {}).get("configOptions", [])
                return {"configOptions": [_chosen(option, params) for option in options]}
            case "session/prompt":
                return await self._prompt(params)
            case _:
                raise RpcError(METHOD_NOT_FOUND, method)

    def _later(self, steps: list[JsonObject]) -> None:
        """Play steps after the answer, as agents do that list their commands for a new session."""
        task = asyncio.create_task(self._play(steps))
        task.add_done_callback(lambda done: done.exception())

    async def _prompt(self, params: Any) -> Any:
        self._cancelled.clear()
        text = "\n".join(block.get("text", f"<{block['type']}>") for block in params["prompt"])
        if (steps := self._script.get("prompts", {}).get(text)) is not None:
            return await self._play(steps) or {"stopReason": "end_turn"}
        if not self._turns:
            await self._play([chunk(text)])
            return {"stopReason": "end_turn"}
        return await self._play(self._turns.pop(0)) or {"stopReason": "end_turn"}

    async def _play(self, steps: list[JsonObject]) -> JsonObject | None:
        for step in steps:
            step = cast("JsonObject", self._filled(step))
            if "update" in step:
                await self._peer.notify("session/update", {"sessionId": self._session, "update": step["update"]})
            elif "ask" in step:
                if found := await self._play(step.get(await self._ask(step["ask"]), [])):
                    return found
            elif "request" in step:
                await self._play([chunk(await self._request(*step["request"]))])
            elif "notify" in step:
                await self._peer.notify(*step["notify"])
            elif "raw" in step:
                await self._transport.send(step["raw"].encode() * step.get("times", 1) + b"\n")
            elif "cancel" in step:
                await self._cancelled.wait()
            elif "hang" in step:
                await asyncio.Event().wait()
            elif "stop" in step:
                return {"stopReason": step["stop"], **({"usage": step["usage"]} if "usage" in step else {})}
            elif "fail" in step:
                raise RpcError(*step["fail"])
            elif "exit" in step:
                print("the script says exit", file=sys.stderr, flush=True)
                os._exit(step["exit"])
        return None

    async def _ask(self, about: JsonObject) -> str:
        """The outcome of a permission request: allowed, rejected or cancelled."""
        try:
            answer = await self._peer.request("session/request_permission", {"sessionId": self._session, **about})
        except RpcError as error:
            await self._play([chunk(f"refused: {error}")])
            return "rejected"
        outcome = answer["outcome"]
        self._record("outcome", outcome)
        if outcome["outcome"] == "cancelled":
            return "cancelled"
        kinds = {option["optionId"]: option["kind"] for option in about["options"]}
        return "allowed" if kinds[outcome["optionId"]].startswith("allow") else "rejected"

    async def _request(self, method: str, params: JsonObject) -> str:
        try:
            return json.dumps(await self._peer.request(method, params))
        except RpcError as error:
            return f"refused: {error}"

    def _filled(self, value: Any) -> Any:
        if isinstance(value, str):
            return value.replace("$SESSION", self._session).replace("$CWD", self._cwd)
        if isinstance(value, list):
            return [self._filled(item) for item in cast("list[Any]", value)]
        if isinstance(value, dict):
            return {name: self._filled(item) for name, item in cast("JsonObject", value).items()}
        return value


def _chosen(option: JsonObject, params: JsonObject) -> JsonObject:
    return {**option, "currentValue": params["value"]} if option["id"] == params["configId"] else option


def main() -> None:
    """Play the script that the command line names."""
    script = json.loads(Path(sys.argv[1]).read_text())
    asyncio.run(ScriptedAcpAgent(StdioTransport(), script).run())


if __name__ == "__main__":
    main()
