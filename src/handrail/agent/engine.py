"""The composition root of a running session.

The engine owns everything that lives as long as the session: queued prompts, the thread of the conversation, MCP
servers, hooks, tasks, the transcript. Each part is imported and built on first use, because hosts measure how soon the
first request is answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

from handrail.agent.agents import Agents
from handrail.agent.arguments import Arguments
from handrail.agent.events import Speaker, new_id
from handrail.agent.extensions import Extensions
from handrail.agent.history import History, text_block
from handrail.agent.host import Host
from handrail.agent.models.prices import resolve
from handrail.agent.output import Output
from handrail.agent.queue import Prompt, PromptQueue
from handrail.agent.session import Session
from handrail.agent.slash_commands.commands import Commands
from handrail.agent.transcript import Transcript
from handrail.agent.usage import Ledger

if TYPE_CHECKING:
    from handrail.agent.asides import Asides
    from handrail.agent.asking import Asking
    from handrail.agent.checkpoints import Checkpoints
    from handrail.agent.compaction import Compaction
    from handrail.agent.desk import Desk
    from handrail.agent.hooks.run import Hooks
    from handrail.agent.mcp.hub import McpHub
    from handrail.agent.models.base import Model, ModelRequest
    from handrail.agent.permission import Permission
    from handrail.agent.tasks import Tasks
    from handrail.agent.thread import Thread
    from handrail.agent.toolbox import Toolbox
    from handrail.agent.turn import Turn

__all__ = ["Engine"]

JsonObject = dict[str, Any]
MCP_WAIT: Final = 60.0


class Engine:
    """One running session."""

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
        self.extensions = Extensions(session)
        self.agents = Agents(session, self.extensions)
        self.commands = Commands(self)
        self.ended = False
        """The process is ending: no further turn starts."""
        self.begun_by = "startup"
        """The `source` field of SessionStart hooks: startup, resume or clear."""
        self.forgiving = False
        """A signal ended the process: the turn it interrupted does not count as a failure."""
        self.on_end: Callable[[int], None] = lambda code: None
        self._soon: set[asyncio.Task[None]] = set()
        self._runs = False
        self.closing = False

    # Parts

    @property
    def arguments(self) -> Arguments:
        """The command line."""
        return self.session.arguments

    @cached_property
    def tasks(self) -> Tasks:
        """Background tasks."""
        from handrail.agent.tasks import Tasks

        return Tasks(self.speaker, lambda: str(self.transcript.folder / "tasks"), self._notified)

    @cached_property
    def checkpoints(self) -> Checkpoints:
        """Copies of files from before they were changed."""
        from handrail.agent.checkpoints import Checkpoints

        return Checkpoints(self.session, self.transcript.checkpoints_folder)

    @cached_property
    def asking(self) -> Asking:
        """Requests to the host."""
        from handrail.agent.asking import Asking

        return Asking(self)

    @cached_property
    def asides(self) -> Asides:
        """Model requests outside the conversation."""
        from handrail.agent.asides import Asides

        return Asides(self)

    @cached_property
    def compaction(self) -> Compaction:
        """Compaction of a long conversation."""
        from handrail.agent.compaction import Compaction

        return Compaction(self)

    @cached_property
    def toolbox(self) -> Toolbox:
        """The tools."""
        from handrail.agent.toolbox import Toolbox

        return Toolbox(self)

    @cached_property
    def hub(self) -> McpHub:
        """The MCP servers."""
        from handrail.agent.mcp.hub import McpHub

        session, ask = self.session, self.asking
        hub = McpHub(
            ask.send_to_server,
            ask.elicit,
            environment=session.child_environment(),
            cwd=session.cwd,
            on_prompts=self.commands.push,
        )
        if self._runs:
            hub.start()
        return hub

    @property
    def has_servers(self) -> bool:
        """Whether the session has MCP servers."""
        return "hub" in vars(self)

    @cached_property
    def desk(self) -> Desk:
        """The folders, environment and services that tools use."""
        from handrail.agent.desk import Desk

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
            "plans_folder": str(self.transcript.folder / "plans"),
            "set_mode": self._set_mode,
            "sandbox": session.settings.values.get("sandbox"),
            "allow_private_addresses": session.environment.get("HANDRAIL_PRIVATE_ADDRESSES") == "allow",
            "web_search": self.asides.search if self.model.searches_web else None,
        }
        return desk

    def _set_mode(self, mode: str) -> None:
        """Enter or leave plan mode for a tool, unless the user has already chosen another mode."""
        if mode != "plan" and self.session.mode != "plan":
            return
        self.desk.notes["mode_before_plan"] = self.session.mode_before_plan
        self.session.set_mode(self.session.mode_before_plan if mode != "plan" else mode)
        self.later(self.speaker.system("status", status=None, permissionMode=self.session.mode))

    @cached_property
    def hooks(self) -> Hooks:
        """The hooks of the settings and of the host."""
        from handrail.agent.hooks.run import Hooks

        return Hooks(
            None,
            self.extensions.hooks(),
            send=self.asking.call_back,
            environment=self.session.environment,
            cwd=self.session.cwd,
            trusted=self.session.loaded.trusted,
            report=self.speaker.say,
            report_all=self.arguments.include_hook_events,
        )

    @cached_property
    def thread(self) -> Thread:
        """The main conversation; each subagent has a thread too."""
        from handrail.agent.prompt.system import system_prompt
        from handrail.agent.thread import Thread

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
            system=lambda: system_prompt(self),
            model_name=lambda: self.model_for(self.commands.turn_model),
            max_turns=self.arguments.max_turns,
        )

    def permission_for(self, speaker: Speaker) -> Permission:
        """The permission checks of one thread."""
        from handrail.agent.permission import Permission

        return Permission(self.session, speaker, self.asking.who_decides(), self.asking.ask_hooks)

    # Running

    async def run(self) -> int:
        """Run turns until the input has ended and no task is running. Returns the exit code."""
        self._runs = True
        if self.has_servers:
            self.hub.start()
        await self._session_hooks("SessionStart", source=self.begun_by)
        while prompts := await self.queue.next(self._has_tasks):
            from handrail.agent.turn import Turn  # here: `initialize` is already answered

            self.turn = Turn(self, prompts)  # an interrupt from here on is for these
            await asyncio.gather(*self._soon)  # lines about a prompt come before its turn
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

    def _has_tasks(self) -> bool:
        return "tasks" in vars(self) and bool(self.tasks.running)

    async def close(self) -> None:
        """End everything that runs."""
        self.closing = True
        if "tasks" in vars(self):
            await self.tasks.stop_all()
        if "hooks" in vars(self):
            await self.hooks.close()
        if self.has_servers:
            await self.hub.close()
        await self.model.close()
        self.transcript.close()

    def put(self, prompt: Prompt) -> bool:
        """Queue a prompt of the host. Returns False for a duplicate."""
        return self.queue.put(prompt)

    def _notified(self, prompt: Prompt | None) -> None:
        if prompt is not None:
            self.queue.put(prompt)
        self.queue.wake()

    def interrupt(self) -> bool:
        """Interrupt the running turn. Returns whether there was one."""
        if self.turn is None:
            return False
        self.turn.interrupt()
        return True

    def interrupt_soon(self) -> None:
        """Interrupt the running turn after the answer to the request is sent."""
        if self.turn is not None:
            asyncio.get_running_loop().call_soon(self.turn.interrupt)

    def end_soon(self) -> None:
        """End the process after the answer to the request is sent."""
        asyncio.get_running_loop().call_later(0.02, self.on_end, 0)

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` as a task; the next turn starts after it."""
        task = asyncio.create_task(work)
        self._soon.add(task)
        task.add_done_callback(self._soon.discard)

    async def ready(self) -> None:
        """Wait for the MCP servers, up to MCP_WAIT seconds."""
        if self.has_servers:
            await self.hub.ready(MCP_WAIT)

    async def take_prompt(self, prompt: Prompt) -> None:
        """Add a prompt, and the files it mentions, to the conversation."""
        from handrail.agent.prompt.mentions import expand

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
        """Clear the conversation and continue under a new session id."""
        await self.tasks.stop_all()
        await self.speaker.system("background_tasks_changed", tasks=[])
        self.session.id = new_id()
        self.transcript.move_to(self.session.id)
        self.checkpoints.start_over(self.transcript.checkpoints_folder)
        self.desk.results_folder = str(self.transcript.folder / "tool-results")
        self.desk.notes["plans_folder"] = str(self.transcript.folder / "plans")
        self.desk.notes.pop("plan_file", None)
        self.history.replace([])
        self.ledger.start_over()

    def loop_request(self) -> ModelRequest:
        """The next model request."""
        from handrail.agent.loop import request_of

        return request_of(self.thread)

    def model_for(self, name: str) -> str:
        """The model id for a name; the session's model for none or `inherit`."""
        return resolve(name, self.session.environment) if name and name != "inherit" else self.session.model

    # Speaking

    async def say_init(self) -> None:
        """Send `system/init`, the first line of every turn."""
        from handrail.agent.turn_lines import init_fields

        await self.speaker.system("init", **init_fields(self))

    async def say_result(self, line: JsonObject) -> None:
        """Send `result`, the last line of every turn."""
        from handrail.agent.turn_lines import cost_state, result_fields

        line = {**line, **result_fields(self)}
        self.results += 1
        self.session.turns += 1
        self.last_failed = bool(line["is_error"])
        self.transcript.note(cost_state(self))
        await self.speaker.say({"type": "result", **line})

    async def tell_lifecycle(self, uuid: str, state: str) -> None:
        """Report the state of a prompt."""
        await self.speaker.say({"type": "command_lifecycle", "command_uuid": uuid, "state": state})

    async def _session_hooks(self, event: str, **fields: Any) -> None:
        """Run the command hooks of the session's start; callbacks of the host are not called then."""
        if not any(hook.event == event for hook in self.extensions.hooks()):
            return
        found = await self.thread.hear(event, self.thread.hook_input(event, **fields))
        for text in found.additional_context:
            self.history.add_user(text)

    # Initialising

    def initialize(self, fields: JsonObject) -> None:
        """Apply the fields of `initialize`. Raises Refused for hooks that cannot be read."""
        self.initialized = fields
        if "hooks" in vars(self) or fields.get("hooks") is not None:
            self.hooks.register(fields.get("hooks"))
        if isinstance(agents := fields.get("agents"), dict):
            self.agents.add(cast("JsonObject", agents))
        if isinstance(names := fields.get("sdkMcpServers"), list):
            servers = {str(name): {"type": "sdk", "name": str(name)} for name in cast("list[Any]", names)}
            self.hub.configure(servers, scope="dynamic")
            self.hub.start()
        if isinstance(schema := fields.get("jsonSchema"), dict):
            self.toolbox.schema = schema
