"""A session that runs. In: arguments, an environment, a way to speak. Out: turns, one by one, and an exit code.

It owns everything that lives as long as the session: the prompts that wait, the thread of the conversation, servers,
hooks, tasks, the transcript.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from handrail.agent.agents import Agents
from handrail.agent.arguments import Arguments
from handrail.agent.asides import Asides
from handrail.agent.checkpoints import Checkpoints
from handrail.agent.compaction import Compaction
from handrail.agent.desk import Desk
from handrail.agent.events import Speaker, new_id
from handrail.agent.extensions import Extensions
from handrail.agent.history import History, text_block
from handrail.agent.hooks.run import Hooks
from handrail.agent.host import Host
from handrail.agent.loop import request_of
from handrail.agent.mcp.hub import McpHub
from handrail.agent.models.base import Model, ModelRequest
from handrail.agent.models.prices import resolve
from handrail.agent.output import Output
from handrail.agent.permission import Permission, Question
from handrail.agent.prompt.mentions import expand
from handrail.agent.prompt.system import system_prompt
from handrail.agent.queue import Prompt, PromptQueue
from handrail.agent.session import Session
from handrail.agent.slash_commands.commands import Commands
from handrail.agent.tasks import Tasks
from handrail.agent.thread import Thread
from handrail.agent.toolbox import Toolbox
from handrail.agent.transcript import Transcript
from handrail.agent.turn import Turn
from handrail.agent.turn_lines import init_fields, result_fields
from handrail.agent.usage import Ledger

__all__ = ["Engine"]

JsonObject = dict[str, Any]
MCP_WAIT: Final = 60.0


class Engine:
    """One session, running."""

    def __init__(
        self,
        session: Session,
        *,
        model: Model,
        output: Output,
        host: Host,
        history: History | None = None,
        transcript: Transcript,
    ) -> None:
        self.session, self.model, self.host, self.transcript = session, model, host, transcript
        self.queue = PromptQueue()
        self.ledger = Ledger()
        self.history = history or History()
        self.speaker = Speaker(
            output, lambda: session.id, record=transcript.add, partial=session.arguments.include_partial_messages
        )
        self.output = output
        self.turn: Turn | None = None
        self.last_failed = False
        self.results = 0
        self.initialized: JsonObject = {}
        self.tasks = Tasks(self.speaker, self._tasks_folder, self._notified)
        self.checkpoints = Checkpoints(session, self._checkpoints_folder())
        self.asides = Asides(self)
        self.desk = self._desk()
        self.hub = McpHub(
            self._send_to_sdk_server, self._elicit, environment=session.child_environment(), cwd=session.cwd
        )
        self.extensions = Extensions(session)
        self.hooks = self._make_hooks()
        self.agents = Agents(session, self.extensions)
        self.commands = Commands(self)
        self.toolbox = Toolbox(self)
        self.ended = False
        """The process has been told to end: no further turn begins."""
        self.begun_by = "startup"
        """What hooks are told of how the session began."""
        self.forgiving = False
        """The process was asked to end by a signal: then a turn that was interrupted is no failure."""
        self.on_end: Callable[[int], None] = lambda code: None
        self._soon: set[asyncio.Task[None]] = set()
        self.thread = self._thread()
        self.compaction = Compaction(self)

    # Parts

    @property
    def arguments(self) -> Arguments:
        """What the agent was started with."""
        return self.session.arguments

    def _desk(self) -> Desk:
        session = self.session
        desk = Desk(
            session.cwd,
            home=session.home,
            additional=session.folders,
            environment=session.child_environment(),
            tasks=self.tasks,
            before_change=self.checkpoints.before_change,
            ask_model=self.asides.ask,
            results_folder=str(self.transcript.folder / "tool-results"),
            may_read=session.may_read,
        )
        desk.notes |= {
            "plans_folder": os.path.join(session.data_home, "plans"),
            "set_mode": self._set_mode,
            "sandbox": session.settings.values.get("sandbox"),
            "allow_private_addresses": session.environment.get("HANDRAIL_PRIVATE_ADDRESSES") == "allow",
            "web_search": self.asides.search if self.model.searches_web else None,
        }
        return desk

    def _set_mode(self, mode: str) -> None:
        """A tool changes the mode: into a plan, or out of it."""
        self.desk.notes["mode_before_plan"] = self.session.mode_before_plan
        self.session.set_mode(self.session.mode_before_plan if mode != "plan" else mode)
        self.later(self.speaker.system("status", status=None, permissionMode=self.session.mode))

    def _make_hooks(self) -> Hooks:
        return Hooks(
            None,
            self.extensions.hooks(),
            send=self._call_back,
            environment=self.session.environment,
            cwd=self.session.cwd,
            trusted=self.session.loaded.trusted,
            report=self._report_hook,
            report_all=self.arguments.include_hook_events,
        )

    def _thread(self) -> Thread:
        return Thread(
            self.session,
            speaker=self.speaker,
            history=self.history,
            desk=self.desk,
            model=self.model,
            ledger=self.ledger,
            hooks=self.hooks,
            permission=self.permission_for(self.speaker),
            transcript=self.transcript,
            tools=self.toolbox.offered,
            system=self._system,
            model_name=lambda: self.model_for(self.commands.turn_model),
            max_turns=self.arguments.max_turns,
        )

    def permission_for(self, speaker: Speaker) -> Permission:
        """Who decides what a thread may do."""
        return Permission(self.session, speaker, self._asker(), self._ask_hooks)

    def _asker(self) -> Callable[[JsonObject], Awaitable[JsonObject]] | None:
        tool = self.arguments.permission_prompt_tool
        if tool == "stdio" and self.host.listens:
            return lambda fields: self.host.ask("can_use_tool", fields)
        return self._ask_tool if tool.startswith("mcp__") else None

    def _system(self) -> list[JsonObject]:
        return system_prompt(self)

    @property
    def output_schema(self) -> JsonObject | None:
        """The schema that answers must fit, if there is one."""
        return self.toolbox.schema

    # Running

    async def run(self) -> int:
        """Turns until nothing more can come. Out: the exit code."""
        self.hub.start()
        await self._session_hooks("SessionStart", source=self.begun_by)
        while prompts := await self.queue.next(lambda: bool(self.tasks.running)):
            self.turn = Turn(self, prompts)  # from now on an interruption is for these
            await asyncio.gather(*self._soon)  # what was to be said of a prompt comes before its turn
            if await self.turn.run_command():
                self.turn = None
                continue
            self.commands.begin_turn(prompts)
            try:
                await self.turn.run()
            finally:
                self.turn = None
                self.commands.end_turn()
            if self.ended:
                break
        return 1 if self.last_failed and not self.forgiving else 0

    async def close(self) -> None:
        """End all that runs."""
        await self.tasks.stop_all()
        await self.hooks.close()
        await self.hub.close()
        await self.model.close()
        self.transcript.close()

    def put(self, prompt: Prompt) -> bool:
        """A prompt of the host."""
        return self.queue.put(prompt)

    def _notified(self, prompt: Prompt | None) -> None:
        if prompt is not None:
            self.queue.put(prompt)
        self.queue.wake()

    def interrupt(self) -> bool:
        """End the turn that runs. Out: whether there was one."""
        if self.turn is None:
            return False
        self.turn.interrupt()
        return True

    def interrupt_soon(self) -> None:
        """End the turn that runs now, once the answer to the request is on its way."""
        if self.turn is not None:
            asyncio.get_running_loop().call_soon(self.turn.interrupt)

    def end_soon(self) -> None:
        """End the process once the answer to the request has gone."""
        asyncio.get_running_loop().call_later(0.02, self.on_end, 0)

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Say something without waiting for it."""
        task = asyncio.create_task(work)
        self._soon.add(task)
        task.add_done_callback(self._soon.discard)

    async def ready(self) -> None:
        """Servers have had their time to come up."""
        await self.hub.ready(MCP_WAIT)

    async def take_prompt(self, prompt: Prompt) -> None:
        """A prompt becomes part of the conversation, with the files that it mentions."""
        mentioning = prompt.expansion.words if prompt.expansion else prompt.text
        prompt = await self.commands.completed(prompt)
        content = [text_block(prompt.content)] if isinstance(prompt.content, str) else prompt.content
        extra = await expand(mentioning, self)
        fields: JsonObject = {"uuid": prompt.uuid or new_id(), **({"origin": prompt.origin} if prompt.origin else {})}
        self.checkpoints.begin(fields["uuid"])
        self.history.add_user([*content, *extra])
        line = await self.speaker.user(prompt.content, aloud=False, **fields)
        if extra:
            self.speaker.keep({"type": "attachment", "attachment": {"type": "files", "content": extra}})
        if self.arguments.replay_user_messages and not prompt.origin:
            await self.speaker.say({**line, "isReplay": True})

    async def start_over(self) -> None:
        """Forget the conversation, and go on under another id."""
        await self.tasks.stop_all()
        await self.speaker.system("background_tasks_changed", tasks=[])
        self.session.id = new_id()
        self.transcript.move_to(self.session.id)
        self.checkpoints.start_over(self._checkpoints_folder())
        self.desk.results_folder = str(self.transcript.folder / "tool-results")
        self.history.replace([])
        self.ledger.start_over()

    def loop_request(self) -> ModelRequest:
        """What the model would be asked next."""
        return request_of(self.thread)

    def model_for(self, name: str) -> str:
        """The model that a subagent asks: its own, or that of the session."""
        return resolve(name) if name and name != "inherit" else self.session.model

    # Speaking

    async def say_init(self) -> None:
        """The line that begins every turn."""
        await self.speaker.system("init", **init_fields(self))

    async def say_result(self, line: JsonObject) -> None:
        """The line that ends a turn."""
        line = {**line, **result_fields(self)}
        self.results += 1
        self.session.turns += 1
        self.last_failed = bool(line["is_error"])
        self.transcript.note(
            {
                "type": "cost-state",
                "sessionId": self.session.id,
                "totalCostUSD": self.ledger.total_cost,
                "modelUsage": self.ledger.models(),
            }
        )
        await self.speaker.say({"type": "result", **line})

    async def tell_lifecycle(self, uuid: str, state: str) -> None:
        """What became of a prompt."""
        await self.speaker.say({"type": "command_lifecycle", "command_uuid": uuid, "state": state})

    # Asking

    async def _call_back(self, callback_id: str, given: JsonObject, tool_use_id: str | None) -> JsonObject:
        fields = {"callback_id": callback_id, "input": given, "tool_use_id": tool_use_id}
        return await self.host.ask("hook_callback", fields)

    async def _report_hook(self, line: JsonObject) -> None:
        await self.speaker.say(line)

    async def _ask_hooks(self, question: Question) -> JsonObject | None:
        fields = self.thread.hook_input("PermissionRequest", tool_name=question.tool, tool_input=question.input)
        found = await self.thread.hear("PermissionRequest", fields, tool_use_id=question.call_id)
        return found.permission

    async def _ask_tool(self, fields: JsonObject) -> JsonObject:
        """Ask an MCP tool that decides."""
        given = {name: fields[name] for name in ("tool_name", "input", "tool_use_id")}
        found = await self.hub.call(self.arguments.permission_prompt_tool, given)
        text = "".join(block.get("text", "") for block in found.get("content", ()) if block.get("type") == "text")
        try:
            return msgspec.json.decode(text, type=dict[str, Any])
        except msgspec.DecodeError:
            return {}

    async def _send_to_sdk_server(self, server: str, message: JsonObject) -> JsonObject:
        answer = await self.host.ask("mcp_message", {"server_name": server, "message": message})
        return answer.get("mcp_response") or {}

    async def _elicit(self, fields: JsonObject) -> JsonObject:
        return await self.host.ask("elicitation", fields)

    async def _session_hooks(self, event: str, **fields: Any) -> None:
        """Hooks of the settings about the session itself; callbacks are not called at the start."""
        found = await self.thread.hear(event, self.thread.hook_input(event, **fields))
        for text in found.additional_context:
            self.history.add_user(text)

    # Initialising

    def initialize(self, fields: JsonObject) -> None:
        """What the host registers. Raises Refused where it cannot be read."""
        self.initialized = fields
        self.hooks.register(fields.get("hooks"))
        if isinstance(agents := fields.get("agents"), dict):
            self.agents.add(cast("JsonObject", agents))
        if isinstance(names := fields.get("sdkMcpServers"), list):
            servers = {str(name): {"type": "sdk", "name": str(name)} for name in cast("list[Any]", names)}
            self.hub.configure(servers, scope="dynamic")
            self.hub.start()
        if isinstance(schema := fields.get("jsonSchema"), dict):
            self.toolbox.schema = schema

    def _tasks_folder(self) -> str:
        return str(self.transcript.folder / "tasks")

    def _checkpoints_folder(self) -> Path | None:
        return self.transcript.folder / "checkpoints" if self.transcript.enabled else None
