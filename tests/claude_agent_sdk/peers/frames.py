"""The messages that a package makes of frames of the CLI: `python frames.py claude_agent_sdk`.

A transport plays the frames after the first prompt. The answer has the `repr` of every message.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from typing import Any

IDS = {"uuid": "u", "session_id": "s"}
USAGE = {"total_tokens": 1, "tool_uses": 2, "duration_ms": 3}
RESULT = {"type": "result", "duration_ms": 1, "duration_api_ms": 2, "is_error": False, "num_turns": 1, **IDS}
LIMIT = {"status": "rejected", "resetsAt": 1, "rateLimitType": "overage", "utilization": 0.5, "isUsingOverage": True}


def assistant(*blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A message of the model."""
    return {"type": "assistant", "message": {"model": "m", "content": list(blocks)}, **fields}


def user(content: Any, **fields: Any) -> dict[str, Any]:
    """A message in the role of the user."""
    return {"type": "user", "message": {"role": "user", "content": content}, **fields}


def system(subtype: str, **fields: Any) -> dict[str, Any]:
    """A message of the CLI itself."""
    return {"type": "system", "subtype": subtype, **fields}


FRAMES: list[dict[str, Any]] = [
    system("init", claude_code_version="2.1.325", tools=["Bash"], **IDS),
    assistant(),
    assistant(
        {"type": "text", "text": "hi"},
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"a": [1]}},
        {"type": "tool_result", "tool_use_id": "t1", "content": "out", "is_error": True},
        {"type": "tool_result", "tool_use_id": "t2"},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
        {"type": "advisor_tool_result", "tool_use_id": "s1", "content": {"k": 1}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [1]},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "image", "source": {}},
        {"type": "hologram"},
        parent_tool_use_id="p",
        error="rate_limit",
        **IDS,
    ),
    {
        "type": "assistant",
        "message": {"id": "m1", "model": "m", "content": [], "stop_reason": "end_turn", "usage": {"input_tokens": 1}},
    },
    user("text", tool_use_result={"a": 1}, origin={"kind": "human"}, parent_tool_use_id=None, **IDS),
    user(
        [
            {"type": "text", "text": "q"},
            {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "z"}], "is_error": False},
            {"type": "tool_use", "id": "a", "name": "b", "input": {}},
            {"type": "thinking", "thinking": "x", "signature": "s"},
            {"type": "document", "source": {}},
        ],
        tool_use_result="a text",
    ),
    user([]),
    {"type": "stream_event", "event": {"type": "message_start"}, "parent_tool_use_id": "p", "ttft_ms": 4, **IDS},
    {"type": "rate_limit_event", "rate_limit_info": {**LIMIT, "overageStatus": "allowed"}, **IDS},
    {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed"}, **IDS},
    {"type": "conversation_reset", "new_conversation_id": "n", "trigger": "clear", **IDS},
    system("task_started", task_id="t", description="d", tool_use_id="x", task_type="local_agent", **IDS),
    system("task_progress", task_id="t", description="d", usage=USAGE, last_tool_name="Bash", **IDS),
    system("task_updated", task_id="t", patch={"status": "completed"}, **IDS),
    system("task_updated", task_id="t", patch={"description": "x"}),
    system("task_updated", task_id="t"),
    system("task_notification", task_id="t", status="failed", output_file="o", summary="s", usage=USAGE, **IDS),
    system("hook_started", hook_id="h", hook_name="n", hook_event="PreToolUse", **IDS),
    system("hook_progress", hook_id="h", hook_name="n", hook_event="PreToolUse", output="", **IDS),
    system("hook_response", hook_id="h", hook_name="n", hook_event="Stop", output="", outcome="success", **IDS),
    system("mirror_error", error="e", key={"project_key": "p", "session_id": "s"}, **IDS),
    system("session_state_changed", state="running", sdk_host_only=True),
    system("session_state_changed", state="running"),
    system("status", status=None),
    system("subtype_of_tomorrow", value=1),
    {"type": "tool_progress", "tool_use_id": "t", **IDS},
    {"type": "auth_status", "isAuthenticating": False, **IDS},
    {"type": "tool_use_summary", "summary": "x", **IDS},
    {"type": "prompt_suggestion", "suggestion": "x", **IDS},
    {"type": "active_goal", "value": None, **IDS},
    {"type": "keep_alive"},
    {"type": "command_lifecycle", "state": "queued"},
    {"type": "type_of_tomorrow"},
    {
        **RESULT,
        "subtype": "success",
        "stop_reason": "end_turn",
        "total_cost_usd": 0.5,
        "usage": {"input_tokens": 1},
        "result": "done",
        "structured_output": {"q": 1},
        "modelUsage": {"m": {"inputTokens": 1}},
        "permission_denials": [{"tool_name": "Bash"}],
        "deferred_tool_use": {"id": "i", "name": "n", "input": {"z": 1}},
        "errors": ["e"],
        "api_error_status": 429,
        "terminal_reason": "completed",
        "origin": {"kind": "human"},
        "field_of_tomorrow": 1,
    },
    {**RESULT, "subtype": "error_during_execution", "is_error": True},
]


def main(package: str) -> list[str]:
    sdk = importlib.import_module(package)

    class Player(sdk.Transport):
        """Grants every control request, and plays the frames after the first prompt."""

        async def connect(self) -> None:
            self.frames: asyncio.Queue[Any] = asyncio.Queue()

        async def write(self, data: str) -> None:
            line = json.loads(data)
            if line["type"] == "control_request":
                response = {"subtype": "success", "request_id": line["request_id"], "response": {}}
                self.frames.put_nowait({"type": "control_response", "response": response})
            elif line["type"] == "user":
                for frame in [*FRAMES, None]:
                    self.frames.put_nowait(frame)

        async def read_messages(self) -> Any:
            while (frame := await self.frames.get()) is not None:
                yield frame

        async def close(self) -> None: ...

        def is_ready(self) -> bool:
            return True

        async def end_input(self) -> None: ...

    async def run() -> list[str]:
        return [repr(message) async for message in sdk.query(prompt="go", transport=Player())]

    return asyncio.run(run())


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1]), indent=1))
