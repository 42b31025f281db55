"""A fake CLI that plays turns given as data, and records what it receives.

    cli = ScriptedCli([["Hello"], [asks("can_use_tool", tool_name="Bash", input={"command": "ls"}), "Done"]])
    async with handrail.Session(options, transport=cli.transport) as session:
        assert (await session.ask("Hi")).text == "Hello"
    assert cli.prompts[0]["message"]["content"] == "Hi"

It runs in memory next to the session, or in a separate process with `serve`. It keeps the order of the real CLI:
`command_lifecycle`, `system/init`, the scripted lines, one `result` with the uuids of its prompts. The steps of a turn:

    "text"      an assistant message            {"type": …}    this line; missing fields of a `result` are added
    b"…"        a raw line                      asks(…)        a control request; waits for the answer
    hold("a")   waits for cli.release("a")      together(…)    several requests at once
    fold()      a queued prompt joins the turn  merges(2)      as first step: two prompts share this turn
    exits(3)    the CLI exits
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from handrail.connection import Connection, ControlRefused, Disconnected, Handler
from handrail.connection.router import Refusal
from handrail.protocol import BadLine, Frame, Message, Request, encode_message
from handrail.schema.view import read_json
from handrail.testing.scripted_lines import assistant_line, init_line, result_line
from handrail.transport.base import Ending, Transport
from handrail.transport.memory import MemoryTransport

__all__ = ["Refusal", "ScriptedCli", "asks", "exits", "fold", "hold", "merges", "together"]

Json = dict[str, Any]
Step = Mapping[str, Any] | str | bytes
Reply = Mapping[str, Any] | Refusal | Callable[[Json], Any] | None
"""The reply to a control request: a payload, None for an empty answer, a Refusal, or a function that returns these."""

ACKNOWLEDGED = (
    "apply_flag_settings mcp_message mcp_reconnect mcp_toggle rename_session seed_read_state set_max_thinking_tokens"
    " stop_task update_settings"
)
REPLIES: Mapping[str, Reply] = {
    "initialize": {"commands": [], "agents": [], "models": [], "account": {}, "output_style": "default", "pid": 1},
    **dict.fromkeys(ACKNOWLEDGED.split()),
}
ABORTED: Mapping[str, Any] = {
    "subtype": "error_during_execution",
    "is_error": True,
    "result": None,
    "errors": ["[Request interrupted by user]"],
    "terminal_reason": "aborted_streaming",
}
"""The result of an interrupted turn."""


def asks(subtype: str, **fields: Any) -> Json:
    """A step: send a control request and wait for the answer."""
    return {"type": "asks", "request": {"subtype": subtype, **fields}}


def together(*requests: Mapping[str, Any]) -> Json:
    """A step: send several requests at once and wait for all answers."""
    return {"type": "together", "requests": list(requests)}


def hold(name: str) -> Json:
    """A step: wait until `release` is called with this name."""
    return {"type": "hold", "name": name}


def fold() -> Json:
    """A step: wait for a prompt, which joins the running turn."""
    return {"type": "fold"}


def merges(prompts: int) -> Json:
    """The first step of a turn that several prompts share."""
    return {"type": "merges", "prompts": prompts}


def exits(code: int = 0, stderr: str = "") -> Json:
    """A step: the CLI exits."""
    return {"type": "exits", "code": code, "stderr": stderr}


class ScriptedCli:
    """A fake CLI for one session. Without `lifecycle` it acts like an older CLI that sends no `command_lifecycle`."""

    def __init__(
        self,
        turns: Iterable[Sequence[Step]] = (),
        *,
        replies: Mapping[str, Reply] | None = None,
        lifecycle: bool = True,
        session_id: str = "5c9a7f3e-0000-4000-8000-000000000001",
    ) -> None:
        self.turns = deque(turns)
        self.session_id = session_id
        self.heard: list[Json] = []
        self.answers: list[Json | ControlRefused] = []
        self.queue: list[str] = []
        self.held: set[str] = set()
        self.ending = Ending(code=0)
        self.transport: Transport = _Joined(self)
        self._replies: dict[str, Reply] = {**REPLIES, **(replies or {})}
        self._handlers: dict[str, Handler] = dict.fromkeys(self._replies, self._reply)
        self._handlers |= {"interrupt": self._interrupt, "cancel_async_message": self._cancel}
        self._special: dict[str, Callable[[Mapping[str, Any], list[str]], Awaitable[None]]] = {
            "asks": self._asks,
            "together": self._asks,
            "hold": self._holds,
            "fold": self._folds,
            "exits": self._exits,
            "merges": self._merges,
            "result": self._end,
        }
        self._lifecycle = lifecycle
        self._announced: dict[str, asyncio.Task[None]] = {}
        self._changed = asyncio.Event()
        self._playing = asyncio.Lock()
        self._turn: asyncio.Task[None] | None = None
        self._player: asyncio.Task[None] | None = None
        self._said = 0
        self._results = 0

    # Received
    @property
    def prompts(self) -> list[Json]:
        """The user lines, in order."""
        return [line for line in self.heard if line.get("type") == "user"]

    @property
    def requests(self) -> list[Json]:
        """The control requests, in order: subtype and fields."""
        return [line["request"] for line in self.heard if line.get("type") == "control_request"]

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until a condition on the state of this object is true."""
        while not true():
            self._changed.clear()
            await self._changed.wait()

    # Start and stop
    async def serve(self, transport: Transport) -> int:
        """Play on a transport until the other side closes it. Returns the exit code."""
        await self.start(transport)
        await self._connection.closed()
        await self.stop()
        sys.stderr.write(self.ending.stderr)
        return self.ending.code or 0

    async def start(self, transport: Transport) -> None:
        """Start reading and playing."""
        self._connection = Connection(transport, on_messages=self._take, handlers=self._handlers)
        self._connection.tap = self._note
        await self._connection.start()
        self._player = asyncio.create_task(self._play_all(), name="scripted cli")

    async def stop(self) -> None:
        """Stop, even in the middle of a turn."""
        if self._player is not None:
            self._player.cancel()
            await asyncio.gather(self._player, *self._announced.values(), return_exceptions=True)
            await self._connection.close()

    # Actions
    async def say(self, *lines: Mapping[str, Any] | bytes) -> None:
        """Send lines now, independently of the turns."""
        for line in lines:
            self._said += 1
            common = {"session_id": self.session_id, "uuid": f"line_{self._said}"}
            frame = BadLine(line, "", 0) if isinstance(line, bytes) else encode_message({**common, **line})
            await self._connection.send(frame)

    async def ask(self, subtype: str, **fields: Any) -> Json | ControlRefused:
        """Send a control request. Returns its answer or refusal, which is also added to `answers`."""
        answer: Json | ControlRefused
        try:
            success = await self._connection.request(subtype, fields, timeout=None)
            answer = cast("Json", read_json(success.body or b"{}"))
        except ControlRefused as refused:
            answer = refused
        self.answers.append(answer)
        self._changed.set()
        return answer

    async def begin(self, *steps: Step) -> None:
        """Play a turn without a prompt, as after the end of a background task."""
        async with self._playing:
            await self._play(steps, [])

    def release(self, name: str) -> None:
        """Resume a turn that waits in `hold(name)`."""
        self.held.discard(name)
        self._changed.set()

    def reply(self, subtype: str, reply: Reply) -> None:
        """Set the reply to a control request."""
        self._replies[subtype] = reply
        self._handlers[subtype] = self._reply

    # Receiving
    def _note(self, direction: str, frame: Frame) -> None:
        if direction == "out" and not isinstance(frame, BadLine):
            self.heard.append(cast("Json", read_json(frame.raw)))
            self._changed.set()

    def _take(self, messages: list[Message]) -> None:
        for uuid in [_body(message.raw).get("uuid", "") for message in messages if message.type == "user"]:
            self.queue.append(uuid)
            self._announced[uuid] = asyncio.create_task(self._say_state(uuid, "queued"))

    async def _reply(self, request: Request) -> Mapping[str, Any] | None:
        reply = self._replies[request.subtype]
        if isinstance(reply, Refusal):
            raise reply
        if not callable(reply):
            return reply
        made = reply(_body(request.body))
        return await made if asyncio.iscoroutine(made) else made

    async def _interrupt(self, request: Request) -> Json:
        cancelled = self.queue[:] if _body(request.body).get("cancel_queued") else []
        del self.queue[: len(cancelled)]
        for uuid in cancelled:
            await self._say_state(uuid, "cancelled")
        if self._turn is not None:
            asyncio.get_running_loop().call_soon(self._turn.cancel)  # after the answer
        return {"still_queued": list(self.queue), **({"cancelled": cancelled} if cancelled else {})}

    async def _cancel(self, request: Request) -> Json:
        uuid = _body(request.body).get("message_uuid")
        if uuid not in self.queue:
            return {"cancelled": False}
        self.queue.remove(uuid)
        await self._say_state(uuid, "cancelled")
        return {"cancelled": True}

    # Playing
    async def _play_all(self) -> None:
        try:
            while True:
                await self.until(self._has_enough)
                async with self._playing:
                    if self._has_enough():  # a prompt may have been cancelled meanwhile
                        prompts = [self.queue.pop(0) for _ in range(self._wanted())]
                        await self._play(self.turns.popleft() if self.turns else ["Done."], prompts)
        except Disconnected:
            return
        except Exception as error:  # an invalid script must not leave the client waiting
            self.ending = Ending(code=70, stderr=f"the script cannot be played: {type(error).__name__}: {error}\n")
            await self._connection.transport.close()

    def _has_enough(self) -> bool:
        return len(self.queue) >= self._wanted()

    def _wanted(self) -> int:
        """The number of prompts for the next turn."""
        first: Step = self.turns[0][0] if self.turns and self.turns[0] else ""
        return first["prompts"] if isinstance(first, Mapping) and first.get("type") == "merges" else 1

    async def _play(self, steps: Sequence[Step], prompts: list[str]) -> None:
        for uuid in prompts:
            await self._say_state(uuid, "started")
        self._turn = asyncio.create_task(self._steps(steps, prompts))
        try:
            await asyncio.wait([self._turn])
        finally:
            self._turn.cancel()
        if self._turn.cancelled():
            await self._end(ABORTED, prompts)
        else:
            self._turn.result()
        for uuid in prompts:
            await self._say_state(uuid, "completed")

    async def _steps(self, steps: Sequence[Step], prompts: list[str]) -> None:
        kinds = [(step.get("type"), step.get("subtype")) for step in steps if isinstance(step, Mapping)]
        if ("system", "init") not in kinds:
            await self.say(init_line())
        for step in steps:
            await self._step(step, prompts)
        if not any(kind == "result" for kind, _ in kinds):
            await self._end({"result": "".join(step for step in steps if isinstance(step, str))}, prompts)

    async def _step(self, step: Step, prompts: list[str]) -> None:
        if isinstance(step, str | bytes):
            await self.say(assistant_line(step) if isinstance(step, str) else step)
        elif (special := self._special.get(str(step.get("type")))) is not None:
            await special(step, prompts)
        else:
            await self.say(step)

    async def _asks(self, step: Mapping[str, Any], prompts: list[str]) -> None:
        requests = cast("list[Json]", step.get("requests") or [step])
        await asyncio.gather(*(self.ask(**request["request"]) for request in requests))

    async def _holds(self, step: Mapping[str, Any], prompts: list[str]) -> None:
        self.held.add(step["name"])
        self._changed.set()
        await self.until(lambda: step["name"] not in self.held)

    async def _folds(self, step: Mapping[str, Any], prompts: list[str]) -> None:
        await self.until(lambda: bool(self.queue))
        prompts.append(self.queue.pop(0))
        await self._say_state(prompts[-1], "started")

    async def _exits(self, step: Mapping[str, Any], prompts: list[str]) -> None:
        self.ending = Ending(code=step["code"], stderr=step["stderr"])
        await self._connection.transport.close()
        raise Disconnected(self.ending)

    async def _merges(self, step: Mapping[str, Any], prompts: list[str]) -> None:
        """Nothing to do: its prompts were taken when the turn began."""

    async def _end(self, fields: Mapping[str, Any], prompts: list[str]) -> None:
        self._results += 1
        whose: Json = {"user_message_uuids": prompts} if prompts else {"origin": {"kind": "task-notification"}}
        line = {**result_line(self._results), **(whose if self._lifecycle else {}), **fields}
        self.ending = Ending(code=int(line["is_error"]))
        await self.say(line)

    async def _say_state(self, uuid: str, state: str) -> None:
        if state == "started" and uuid in self._announced:
            await self._announced.pop(uuid)
        if self._lifecycle:
            await self.say({"type": "command_lifecycle", "command_uuid": uuid, "state": state})


class _Joined(MemoryTransport):
    """The session's end of the connection; it starts and stops the CLI."""

    def __init__(self, cli: ScriptedCli) -> None:
        super().__init__()
        self._cli = cli
        self.other = MemoryTransport()
        self.other.other = self

    async def start(self) -> None:
        await self._cli.start(self.other)

    async def close(self) -> Ending:
        await super().close()
        await self._cli.stop()
        return self._cli.ending

    @property
    def stderr(self) -> str:
        return self._cli.ending.stderr


def _body(raw: bytes) -> Json:
    return cast("Json", read_json(raw))
