"""The agent side of the official Python SDK of the Agent Client Protocol, with a scripted agent behind it.

    python python_agent.py COMMAND [ARGS]...

Requests of the client are validated by the SDK and passed to the agent that COMMAND starts; what that agent sends is
made into the SDK's types and sent with its methods. Runs with the Python that has the package `agent-client-protocol`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import acp
from acp import schema

METHODS = {
    "initialize": ("initialize", schema.InitializeRequest, schema.InitializeResponse),
    "session/new": ("new_session", schema.NewSessionRequest, schema.NewSessionResponse),
    "session/load": ("load_session", schema.LoadSessionRequest, schema.LoadSessionResponse),
    "session/resume": ("resume_session", schema.ResumeSessionRequest, schema.ResumeSessionResponse),
    "session/fork": ("fork_session", schema.ForkSessionRequest, schema.ForkSessionResponse),
    "session/list": ("list_sessions", schema.ListSessionsRequest, schema.ListSessionsResponse),
    "session/prompt": ("prompt", schema.PromptRequest, schema.PromptResponse),
    "session/set_mode": ("set_session_mode", schema.SetSessionModeRequest, schema.SetSessionModeResponse),
    "session/set_config_option": (
        "set_config_option",
        schema.SetSessionConfigOptionSelectRequest,
        schema.SetSessionConfigOptionResponse,
    ),
}
CLIENT = {
    "session/request_permission": ("request_permission", schema.RequestPermissionRequest),
    "fs/read_text_file": ("read_text_file", schema.ReadTextFileRequest),
    "fs/write_text_file": ("write_text_file", schema.WriteTextFileRequest),
}
FORMS = {"form": schema.ElicitationFormSessionMode, "url": schema.ElicitationUrlSessionMode}
LIMIT = 64 * 1024 * 1024


def dumped(model: Any) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True) if hasattr(model, "model_dump") else model


class Agent:
    """Passes messages between the client and the scripted agent."""

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        self.child = child
        self.waiting: dict[int, asyncio.Future[Any]] = {}
        self.tasks: set[asyncio.Task[None]] = set()

    def on_connect(self, connection: Any) -> None:
        self.client = connection

    def write(self, **message: Any) -> None:
        assert self.child.stdin
        self.child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def ask(self, method: str, params: Any) -> Any:
        number = len(self.waiting)
        self.waiting[number] = asyncio.get_running_loop().create_future()
        self.write(id=number, method=method, params=params)
        return await self.waiting[number]

    async def cancel(self, session_id: str, **_: Any) -> None:
        self.write(method="session/cancel", params={"sessionId": session_id})

    async def read(self) -> None:
        assert self.child.stdout
        while line := await self.child.stdout.readline():
            message = json.loads(line)
            if "method" not in message:
                self.answered(message)
            elif "id" in message:
                task = asyncio.create_task(self.serve(message))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)
            else:
                given = schema.SessionNotification.model_validate(message["params"])
                await self.client.session_update(session_id=given.session_id, update=given.update)

    def answered(self, message: dict[str, Any]) -> None:
        waiting = self.waiting[message["id"]]
        if "error" in message:
            error = message["error"]
            waiting.set_exception(acp.RequestError(error["code"], error["message"], error.get("data")))
        else:
            waiting.set_result(message["result"])

    async def serve(self, message: dict[str, Any]) -> None:
        try:
            result = await self.call(message["method"], message["params"])
        except acp.RequestError as error:
            self.write(id=message["id"], error={"code": error.code, "message": str(error), "data": error.data})
        else:
            self.write(id=message["id"], result=dumped(result) or {})

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        if method == "elicitation/create":
            mode = FORMS[params["mode"]].model_validate(params)
            return await self.client.create_elicitation(params["message"], mode)
        name, model = CLIENT[method]
        given = model.model_validate(params)
        return await getattr(self.client, name)(**{key: getattr(given, key) for key in given.model_fields_set})


def passing(method: str, request: Any, response: Any) -> Any:
    async def serve(self: Agent, **fields: Any) -> Any:
        given = {key: value for key, value in fields.items() if value is not None}
        params = dumped(request.model_validate(given, by_name=True))
        return response.model_validate(await self.ask(method, params))

    return serve


for method, (name, request, response) in METHODS.items():
    setattr(Agent, name, passing(method, request, response))


async def main() -> None:
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(*sys.argv[1:], stdin=pipe, stdout=pipe, limit=LIMIT)
    agent = Agent(child)
    serving = asyncio.create_task(acp.run_agent(agent, use_unstable_protocol=True))
    serving.add_done_callback(lambda _: child.stdin and child.stdin.close())
    await agent.read()
    os._exit(await child.wait())


asyncio.run(main())
