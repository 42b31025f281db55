"""The client side of the official Python SDK of the Agent Client Protocol, for our tests to drive.

    python python_editor.py COMMAND [ARGS]...

Requests and notifications on standard input are made with the SDK's typed methods to the agent that COMMAND starts;
what the agent sends is validated by the SDK and passed on. Runs with the Python that has the package
`agent-client-protocol`, not with ours.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import acp
from acp import schema
from pydantic import TypeAdapter

METHODS = {
    "initialize": ("initialize", schema.InitializeRequest),
    "authenticate": ("authenticate", schema.AuthenticateRequest),
    "session/new": ("new_session", schema.NewSessionRequest),
    "session/load": ("load_session", schema.LoadSessionRequest),
    "session/resume": ("resume_session", schema.ResumeSessionRequest),
    "session/fork": ("fork_session", schema.ForkSessionRequest),
    "session/list": ("list_sessions", schema.ListSessionsRequest),
    "session/close": ("close_session", schema.CloseSessionRequest),
    "session/prompt": ("prompt", schema.PromptRequest),
    "session/set_mode": ("set_session_mode", schema.SetSessionModeRequest),
}


def dumped(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True) if hasattr(model, "model_dump") else model


class Editor:
    """Passes on what the agent sends, and brings back the answers of the test."""

    def __init__(self) -> None:
        self.waiting: dict[int, asyncio.Future[Any]] = {}

    def write(self, **message: Any) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def on_connect(self, _connection: Any) -> None:
        return

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.write(method="session/update", params={"sessionId": session_id, "update": dumped(update)})

    async def request_permission(self, options: Any, session_id: str, tool_call: Any, **_: Any) -> Any:
        params = {"sessionId": session_id, "toolCall": dumped(tool_call), "options": [dumped(item) for item in options]}
        answer = await self.asked("session/request_permission", params)
        return schema.RequestPermissionResponse.model_validate(answer)

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        answer = await self.asked("elicitation/create", {"message": message, **dumped(mode)})
        return TypeAdapter(schema.CreateElicitationResponse).validate_python(answer)

    async def read_text_file(self, path: str, session_id: str, **_: Any) -> Any:
        answer = await self.asked("fs/read_text_file", {"sessionId": session_id, "path": path})
        return schema.ReadTextFileResponse.model_validate(answer)

    async def asked(self, method: str, params: Any) -> Any:
        number = len(self.waiting)
        self.waiting[number] = asyncio.get_running_loop().create_future()
        self.write(id=number, method=method, params=params)
        return await self.waiting[number]

    async def serve(self, connection: Any, message: dict[str, Any]) -> None:
        name, model = METHODS.get(message["method"], (None, None))
        try:
            if name is None or model is None:
                result = await connection._conn.send_request(message["method"], message.get("params") or {})
            else:
                given = model.model_validate(message.get("params") or {})
                result = await getattr(connection, name)(
                    **{field: getattr(given, field) for field in given.model_fields_set}
                )
        except acp.RequestError as error:
            self.write(id=message["id"], error={"code": error.code, "message": str(error), "data": error.data})
        except Exception as error:
            self.write(id=message["id"], error={"code": -32602, "message": f"{type(error).__name__}: {error}"})
        else:
            self.write(id=message["id"], result=dumped(result) or {})


async def main() -> None:
    editor = Editor()
    loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()
    async with acp.spawn_agent_process(editor, *sys.argv[1:], env=dict(os.environ), use_unstable_protocol=True) as (
        connection,
        _,
    ):
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            message = json.loads(line)
            if "method" not in message:
                waiting = editor.waiting[message["id"]]
                if "error" in message:
                    waiting.set_exception(acp.RequestError(message["error"]["code"], message["error"]["message"]))
                else:
                    waiting.set_result(message["result"])
            elif message["method"] == "session/cancel":
                await connection.cancel(session_id=message["params"]["sessionId"])
            elif "id" in message:
                task = asyncio.create_task(editor.serve(connection, message))
                tasks.add(task)
                task.add_done_callback(tasks.discard)


asyncio.run(main())
