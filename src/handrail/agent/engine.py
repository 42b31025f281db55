"""The composition root: makes the parts of a session and connects them.

Hosts measure how soon the handshake is answered, so a part is imported and made when it is first needed. No other
module imports this one: each part receives what it uses.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from handrail.agent.base import Host, Output, Prompt
from handrail.agent.conversation.history import History
from handrail.agent.conversation.queue import PromptQueue
from handrail.agent.conversation.state_events import StateEvents
from handrail.agent.conversation.turn_lines import TurnLines
from handrail.agent.errors import Refused
from handrail.agent.extensions.agents import Agents
from handrail.agent.extensions.extensions import Extensions
from handrail.agent.known_models import facts_of
from handrail.agent.record.transcript import Transcript
from handrail.agent.record.usage import Ledger
from handrail.agent.session import Session
from handrail.agent.slash_commands.commands import Commands
from handrail.agent.speaker import Speaker
from handrail.agent.variables import is_on
from handrail.connection.router import Refusal
from handrail.files.errors import FileError

if TYPE_CHECKING:
    from handrail.agent.controls.handshake import Handshake
    from handrail.agent.conversation.actions import SessionActions
    from handrail.agent.conversation.commands import LocalTurn
    from handrail.agent.conversation.host_requests import HostRequests
    from handrail.agent.conversation.side_requests import SideRequests
    from handrail.agent.conversation.subagent_counts import SubagentCounts
    from handrail.agent.conversation.subagents import Subagents, Task
    from handrail.agent.conversation.suggestions import Suggestions
    from handrail.agent.conversation.tasks import Tasks
    from handrail.agent.conversation.thread import Thread
    from handrail.agent.conversation.toolbox import Toolbox
    from handrail.agent.conversation.turn import Turn, TurnParts
    from handrail.agent.extensions.command import Command
    from handrail.agent.hooks.run import Hooks
    from handrail.agent.mcp.hub import McpHub
    from handrail.agent.models.base import Model, ModelRequest
    from handrail.agent.prompt.memory import Memory
    from handrail.agent.prompt.mentions import Mentions
    from handrail.agent.prompt.plan_notes import PlanNotes
    from handrail.agent.prompt.system import Environment
    from handrail.agent.record.checkpoints import Checkpoints
    from handrail.agent.tools.desk import Desk
    from handrail.connection import Handler
    from handrail.protocol import Request

__all__ = ["Engine"]

JsonObject = dict[str, Any]
T = TypeVar("T")
MCP_WAIT: Final = 60.0
"""Seconds that the first turn waits for MCP servers."""


class Lazy(Generic[T]):
    """A part that is made at the first call."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make, self._parts = make, list[T]()

    @property
    def made(self) -> bool:
        return bool(self._parts)

    def __call__(self) -> T:
        if not self._parts:
            self._parts.append(self._make())
        return self._parts[0]


class Engine:
    """One running session: the brain behind a host."""

    def __init__(
        self,
        session: Session,
        *,
        model: Callable[[], Model],
        output: Output,
        host: Host,
        transcript: Transcript,
    ) -> None:
        self.session, self.host, self.transcript = session, host, transcript
        self.model: Lazy[Model] = Lazy(model)
        self.arguments = session.arguments
        self.started_as = "startup"
        """The `source` field of SessionStart hooks: startup or resume."""
        self.resumed_from = ""
        """The id of the session that is resumed or forked."""
        self.files_seen: dict[str, float] = {}
        """The files that the model saw in the resumed session, with the times in milliseconds."""
        self.turn: Turn | None = None
        self._output, self._started = output, monotonic()
        self._before_turn: set[asyncio.Task[None]] = set()
        self._runs = self._ended = self._closing = self._began = self._starts_turn = False
        self._interrupted_by_signal = False
        self._may_start = asyncio.Event()
        """Set by the handshake or the end of the input."""
        self._load: Callable[[], Coroutine[Any, Any, None]] | None = None
        """Reads the conversation of a resumed session."""
        self._loading: asyncio.Task[None] | None = None
        self._loads_soon = False

        # Parts that the handshake needs.
        self.queue, self.ledger, self.history = PromptQueue(), Ledger(), History()
        self.speaker = Speaker(
            output, lambda: session.id, record=transcript.add, partial=self.arguments.include_partial_messages
        )
        self.extensions = Extensions(session)
        self.agents = Agents(session, self.extensions)
        session.lead = self.agents.lead()
        self.hub: Lazy[McpHub] = Lazy(self._make_hub)
        self.handshake: Lazy[Handshake] = Lazy(self._make_handshake)
        self.commands = Commands(
            self.extensions,
            enabled=not self.arguments.disable_slash_commands,
            wanted_skills=lambda: self.handshake().fields.get("skills") if self.handshake.made else None,
            server_prompts=lambda: self.hub().prompts() if self.hub.made else [],
        )
        self.subagent_counts: Lazy[SubagentCounts] = Lazy(self._make_subagent_counts)
        self._states = StateEvents(self.speaker, session.environment)
        self.lines = TurnLines(
            session,
            self.speaker,
            self.ledger,
            transcript,
            self.queue,
            self._lists,
            lambda: self.subagent_counts().fields,
        )

        # Parts that turns and some requests need.
        self.requests: Lazy[HostRequests] = Lazy(self._make_requests)
        self.tasks: Lazy[Tasks] = Lazy(self._make_tasks)
        self.checkpoints: Lazy[Checkpoints] = Lazy(self._make_checkpoints)
        self.hooks: Lazy[Hooks] = Lazy(self._make_hooks)
        self.desk: Lazy[Desk] = Lazy(self._make_desk)
        self.memory: Lazy[Memory] = Lazy(self._make_memory)
        self.environment: Lazy[Environment] = Lazy(self._make_environment)
        self._plan_notes: Lazy[PlanNotes] = Lazy(self._make_plan_notes)
        self._task: Lazy[Task] = Lazy(self._make_task)
        self.toolbox: Lazy[Toolbox] = Lazy(self._make_toolbox)
        self.thread: Lazy[Thread] = Lazy(self._make_thread)
        self.side_requests: Lazy[SideRequests] = Lazy(self._make_side_requests)
        self.suggestions: Lazy[Suggestions] = Lazy(self._make_suggestions)
        self.actions: Lazy[SessionActions] = Lazy(self._make_actions)
        self._local: Lazy[LocalTurn] = Lazy(self._make_local)
        self._turn_parts: Lazy[TurnParts] = Lazy(self._make_turn_parts)

    # Making parts

    def _make_handshake(self) -> Handshake:
        from handrail.agent.controls.handshake import Handshake

        return Handshake(
            self.session,
            self.transcript,
            self.extensions,
            self.agents,
            hooks=self.hooks,
            has_hooks=lambda: self.hooks.made,
            hub=self.hub,
            toolbox=self.toolbox,
            reload=self._reload,
        )

    def _make_requests(self) -> HostRequests:
        from handrail.agent.conversation.host_requests import HostRequests

        silent = self.arguments.permission_prompts == "none"
        prompt_tool = "" if silent else self.arguments.permission_prompt_tool
        return HostRequests(
            self.host,
            prompt_tool=prompt_tool,
            call_tool=lambda name, given: self.hub().call(name, given),
            has_tool=lambda name: any(tool.name == name for tool in self.hub().tools()),
        )

    def _make_subagent_counts(self) -> SubagentCounts:
        from handrail.agent.conversation.subagent_counts import SubagentCounts

        return SubagentCounts()

    def _make_hub(self) -> McpHub:
        from handrail.agent.conversation.host_requests import Elicitations
        from handrail.agent.mcp.demo_server import with_demo_server
        from handrail.agent.mcp.hub import McpHub

        send = self.requests().send_to_server
        hub = McpHub(
            with_demo_server(send) if self.session.is_demo else send,
            Elicitations(self.requests().elicit, self.thread).elicit,
            environment=self.session.child_environment(),
            cwd=self.session.cwd,
            config_home=self.session.config_home,
            on_prompts=self._push_commands,
        )
        if self._runs:
            hub.start()
        return hub

    def _make_tasks(self) -> Tasks:
        from handrail.agent.conversation.tasks import Tasks

        return Tasks(self.speaker, lambda: str(self.transcript.folder / "tasks"), self._notify)

    def _make_checkpoints(self) -> Checkpoints:
        from handrail.agent.record.checkpoints import Checkpoints

        return Checkpoints(
            self.transcript.checkpoints_folder,
            cwd=self.session.cwd,
            record=self.transcript.note,
            enabled=is_on(self.session.environment, "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"),
        )

    def _make_hooks(self) -> Hooks:
        from handrail.agent.hooks.run import Hooks

        return Hooks(
            None,
            self.extensions.hooks(),
            send=self.requests().call_hook,
            environment=self.session.child_environment(),
            cwd=self.session.cwd,
            trusted=self.session.loaded.trusted,
            report=self._report_hook,
            report_all=self.arguments.include_hook_events,
        )

    async def _report_hook(self, line: JsonObject) -> None:
        fields = {name: value for name, value in line.items() if name not in ("type", "subtype")}
        await self.speaker.system(line["subtype"], **fields)

    def _make_desk(self) -> Desk:
        from handrail.agent.tools.desk import Desk
        from handrail.agent.tools.saved_lists import SavedLists

        session = self.session
        desk = Desk(
            session.cwd,
            home=session.home,
            additional=session.folders,
            environment=session.child_environment(),
            tasks=self.tasks() if session.has_background else None,
            messages=self._task(),
            before_change=self.checkpoints().before_change,
            ask_model=self.side_requests().ask,
            search_web=self.side_requests().search if self.model().searches_web else None,
            set_plan_mode=self._set_plan_mode,
            is_planning=lambda: self.session.mode == "plan",
            may_read=session.may_read,
            reads_first=lambda: facts_of(session.model).reads_first,
            hidden_files=session.hidden_files,
            worktree_problem=session.worktree_problem,
            use_folder=session.use_folder,
            worktrees_from_head=session.worktrees_from_head,
            results_folder=str(self.transcript.folder / "tool-results"),
            plans_folder=str(self.transcript.folder / "plans"),
            sandbox=session.settings.values.get("sandbox"),
            private_addresses=session.environment.get("HANDRAIL_PRIVATE_ADDRESSES") == "allow",
        )
        if self.transcript.enabled:
            desk.state.lists = SavedLists(session.config_home, session.id)
        if self.resumed_from:
            self.resume_desk(desk)
        return desk

    def resume_desk(self, desk: Desk) -> None:
        """Continue with the lists, tools and known files of the resumed session."""
        from handrail.agent.tools.text_file import mark_as_read

        desk.state.resume(self.resumed_from, self.history.messages)
        for path, milliseconds in self.files_seen.items():
            with suppress(FileError):  # it leads elsewhere by now
                mark_as_read(path, milliseconds, desk)

    def _make_memory(self) -> Memory:
        from handrail.agent.prompt.memory import Memory

        return Memory(self.session)

    def _make_environment(self) -> Environment:
        from handrail.agent.prompt.system import Environment

        return Environment(self.session)

    def _make_plan_notes(self) -> PlanNotes:
        from handrail.agent.prompt.plan_notes import PlanNotes

        return PlanNotes()

    def _make_toolbox(self) -> Toolbox:
        from handrail.agent.conversation.toolbox import Toolbox
        from handrail.agent.slash_commands.skill import Skill

        task = self._task()
        return Toolbox(self.session, task, Skill(self.commands, task.fork), lambda: self.hub().tools())

    def _make_task(self) -> Task:
        from handrail.agent.conversation.subagents import Task

        return Task(self._subagents)

    def _subagents(self) -> Subagents:
        from handrail.agent.conversation.subagents import Subagents
        from handrail.agent.prompt.system import subagent_prompt

        return Subagents(
            session=self.session,
            model=self.model(),
            ledger=self.ledger,
            transcript=self.transcript,
            tasks=self.tasks(),
            hooks=self.hooks,
            output=self._output,
            ask_host=self._states.around(self.requests().permission()),
            kinds=lambda: self.agents.kinds,
            tools=self.toolbox().offered,
            model_for=self.session.subagent_model,
            counts=self.subagent_counts(),
            system=lambda prompt: subagent_prompt(prompt, self.environment()),
            memory=self.memory(),
            forwards_text=lambda: (
                self.arguments.forward_subagent_text or self.handshake().fields.get("forwardSubagentText") is True
            ),
            side_requests=self.side_requests,
            tell_main=self._notify,
            note_denial=lambda call: self.thread().denials.append(call),
            skill_text=self._skill_text,
            summarizes=lambda: self.handshake().fields.get("agentProgressSummaries") is True,
        )

    def _skill_text(self, name: str) -> str:
        from handrail.agent.slash_commands.expansion import expansion_of

        found = self.commands.known.get(name)
        return expansion_of(found, "").text if found is not None and found.is_skill else ""

    def _make_thread(self) -> Thread:
        from handrail.agent.conversation.thread import Thread
        from handrail.agent.prompt.preferences import preferences
        from handrail.agent.prompt.system import prefaced_environment, system_prompt

        session = self.session
        return Thread(
            session,
            speaker=self.speaker,
            history=self.history,
            desk=self.desk(),
            model=self.model(),
            ledger=self.ledger,
            hooks=self.hooks(),
            ask_host=self._states.around(self.requests().permission()),
            transcript=self.transcript,
            tools=self.toolbox().offered,
            system=lambda: [
                *system_prompt(session, self.handshake().fields, self.extensions.style_text, self.environment()),
                *preferences(session),
                *(self.hub().instructions() if self.hub.made else ()),
            ],
            model_name=lambda: session.model_for(session.turn_model),
            max_turns=self.arguments.max_turns,
            memory=self.memory(),
            preface=lambda: prefaced_environment(session, self.handshake().fields, self.environment()),
            state_notes=lambda: self._turn_parts().prompts.state_notes(),
        )

    def _make_side_requests(self) -> SideRequests:
        from handrail.agent.conversation.side_requests import SideRequests

        return SideRequests(self.session, self.model(), self.ledger, self._next_request)

    def _make_suggestions(self) -> Suggestions:
        from handrail.agent.conversation.suggestions import Suggestions

        return Suggestions(self.history, self.speaker, self.side_requests().ask_about_it)

    def _suggest(self) -> None:
        """Suggest the next prompt, if the host wants it and none is waiting."""
        flag = self.arguments.prompt_suggestions
        wanted = flag != "false" if flag is not None else self.handshake().fields.get("promptSuggestions") is True
        if wanted and not len(self.queue) and not self.lines.last_failed:
            self.suggestions().begin()

    def _next_request(self) -> ModelRequest:
        from handrail.agent.conversation.loop import request_of

        return request_of(self.thread())

    def _make_local(self) -> LocalTurn:
        from handrail.agent.conversation.commands import LocalTurn

        return LocalTurn(self.lines, self.speaker, self.ledger, self._ready)

    def _make_actions(self) -> SessionActions:
        from handrail.agent.conversation.actions import SessionActions

        return SessionActions(
            self.thread(),
            transcript=self.transcript,
            checkpoints=self.checkpoints(),
            tasks=self.tasks(),
            extensions=self.extensions,
            lines=self.lines,
            local=self._local(),
            side_requests=self.side_requests(),
            compaction=lambda: self._turn_parts().compaction,
            hub=self.hub,
            started=self._started,
        )

    def _make_turn_parts(self) -> TurnParts:
        from handrail.agent.conversation.calls import run_quietly
        from handrail.agent.conversation.commands import CommandRunner
        from handrail.agent.conversation.compaction import Compaction
        from handrail.agent.conversation.prompts import PromptTaker
        from handrail.agent.conversation.turn import TurnParts

        thread = self.thread()
        runner = CommandRunner(
            self.session,
            self.commands,
            self.queue,
            self.lines,
            self._local(),
            self.actions(),
            ready=self._ready,
            fetch=lambda name, words: self.hub().prompt(name, words),
            add_note=lambda text: thread.add_notes([text]),
            run_line=lambda command: run_quietly(thread, "Bash", {"command": command}, asks=False),
        )
        return TurnParts(
            thread=thread,
            queue=self.queue,
            lines=self.lines,
            commands=runner,
            prompts=PromptTaker(
                thread,
                self.checkpoints(),
                Lazy(self._make_mentions),
                self._plan_notes(),
                lambda: str(self.handshake().fields.get("planModeInstructions") or ""),
            ),
            compaction=Compaction(thread, self.transcript, self.lines.say_init),
            ready=self._ready,
            schema=lambda: self.toolbox().schema,
            fork=self._run_fork,
        )

    async def _run_fork(self, command: Command, prompt: str) -> str:
        """Run a command that the user typed in a subagent. As in the CLI, its calls are not asked about."""
        desk = self.desk().for_call(f"forked-command-{command.name}")
        return (await self._task().fork(command, prompt, desk, asks=False)).text

    def _make_mentions(self) -> Mentions:
        from handrail.agent.prompt.mentions import Mentions

        return Mentions(
            self.desk(),
            self.toolbox().known["Read"],
            servers=lambda: self.hub().names(),
            read_resource=lambda server, uri: self.hub().read_resource(server, uri),
            instructions_about=self.thread().instructions_about,
        )

    # A resumed session

    def resume_with(self, load: Callable[[], Coroutine[Any, Any, None]], *, soon: bool) -> None:
        """Set `load`, which reads the conversation when it is first needed; with `soon`, right after the handshake."""
        self._load, self._loads_soon = load, soon

    async def _loaded(self) -> None:
        """Wait until the conversation of a resumed session has been read. Raises Refused if it cannot be."""
        if self._load is not None:
            if self._loading is None:
                self._loading = asyncio.create_task(self._load(), name="handrail resume")
            await asyncio.shield(self._loading)

    def _after_loading(self, handler: Handler) -> Handler:
        async def serve(request: Request) -> Any:
            try:
                await self._loaded()
            except Refused as error:
                raise Refusal(error.message) from None
            return await handler(request)

        return serve

    # Services for the parts

    def _reload(self) -> None:
        """Read all folders again and apply their hooks, servers, agents, commands, skills and styles."""
        self.extensions.read(again=True)
        self.hooks().use_commands(self.extensions.hooks())
        self.hub().configure(self.extensions.servers(), scope="plugin")
        self.agents.reload()
        self.commands.reload()

    def _lists(self) -> JsonObject:
        """The lists of `system/init`."""
        problems = {"mcp_server_errors": self.hub().errors(), "plugin_errors": self.extensions.errors()}
        return {
            "tools": self.toolbox().names(),
            "mcp_servers": self.hub().servers(),
            "slash_commands": self.commands.names(),
            "output_style": self.extensions.output_style,
            "agents": self.agents.names(),
            "skills": self.commands.skill_names(),
            "plugins": self.extensions.lines(),
            **{name: found for name, found in problems.items() if found},
        }

    async def _ready(self) -> None:
        """Wait for the MCP servers."""
        if self.hub.made:
            await self.hub().ready(MCP_WAIT)
            if self.hub().retry_refused():
                await self.hub().ready(MCP_WAIT)

    def _push_commands(self) -> None:
        """Report the commands after prompts of an MCP server were added, changed or removed."""
        if not self._closing and self.commands.enabled:
            self.later(self.speaker.system("commands_changed", commands=self.commands.listed()))

    def _set_plan_mode(self, on: bool, /) -> None:  # noqa: FBT001
        """Enter or leave plan mode for a tool, unless the user has already chosen another mode."""
        session = self.session
        if not on and session.mode != "plan":
            return
        session.set_mode("plan" if on else session.mode_before_plan)
        if not on:
            self._plan_notes().start_over()
        self.later(self.speaker.system("status", status=None, permissionMode=session.mode))

    def _notify(self, prompt: Prompt | None) -> None:
        if prompt is not None:
            self.queue.put(prompt)
        elif self.turn is None and not len(self.queue) and not self._has_tasks():
            self.later(self._states.set("idle"))
        self.queue.wake()

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` as a task; the next turn starts after it."""
        task = asyncio.create_task(work)
        self._before_turn.add(task)
        task.add_done_callback(self._before_turn.discard)

    # The brain, as the host's side sees it

    def handlers(self) -> Mapping[str, Handler]:
        """The handlers of control requests by subtype."""
        from handrail.agent.controls.initialize import InitializeControl
        from handrail.agent.controls.table import Handlers, handlers

        initialize = InitializeControl(
            self.session,
            self.host,
            self.handshake(),
            commands=self.commands,
            agents=self.agents,
            extensions=self.extensions,
            preload=self._preload,
            is_running=lambda: self.turn is not None,
        )
        return Handlers(handlers(initialize), self._other_handlers)

    def _other_handlers(self) -> dict[str, Handler]:
        from handrail.agent.controls.conversation import ConversationControls
        from handrail.agent.controls.extensions import ExtensionControls
        from handrail.agent.controls.live_settings import LiveSettings
        from handrail.agent.controls.mcp import McpControls
        from handrail.agent.controls.session import SessionControls
        from handrail.agent.controls.table import handlers

        found = handlers(
            SessionControls(
                self.session,
                self.speaker,
                live_settings=LiveSettings(
                    self.session, self.extensions, lambda: self.handshake().fields, self._use_settings
                ),
                actions=self.actions,
                has_conversation=lambda: bool(self.history.messages),
                end=self._end_session,
                switch_hooks=self._switch_hooks,
            ),
            ConversationControls(
                self.session,
                self.speaker,
                self.ledger,
                self.queue,
                self.lines,
                started=self._started,
                interrupt=self._interrupt_turn,
                actions=self.actions,
                side_requests=self.side_requests,
                tasks=self.tasks,
                checkpoints=self.checkpoints,
                desk=self.desk,
                reload=self._reload,
            ),
            ExtensionControls(
                self.session,
                self.extensions,
                self.agents,
                self.commands,
                hooks=self.hooks,
                hub=self.hub,
                reload=self._reload,
                is_running=lambda: self.turn is not None,
            ),
            McpControls(self.hub, lambda: self.hub.made),
        )
        return {subtype: self._after_loading(handler) for subtype, handler in found.items()} if self._load else found

    def _use_settings(self) -> None:
        """Apply the variables and hooks of changed settings."""
        self.desk().environment.update(self.session.settings.env)
        if self.hooks.made or self.extensions.hooks():
            self.hooks().use_commands(self.extensions.hooks())

    def _switch_hooks(self) -> Thread | None:
        """The main thread, if hooks want to know of model switches."""
        events = ("PreModelSwitch", "PostModelSwitch")
        return self.thread() if self.hooks.made and any(map(self.hooks().has, events)) else None

    def _preload(self) -> None:
        from handrail.agent.preload import preload

        self._may_start.set()
        self.later(preload(self._is_idle, self.toolbox, self.model, self._load_soon))

    def _is_idle(self) -> bool:
        return self.turn is None and not len(self.queue)

    async def _load_soon(self) -> None:
        if self._loads_soon:
            with suppress(Refused):  # it was reported, and the session ends
                await self._loaded()

    def put(self, prompt: Prompt) -> None:
        """Queue a prompt; the priority `now` ends the running turn. A uuid that was queued before is ignored."""
        if not self.queue.put(prompt):
            if self.arguments.replay_user_messages:  # the host sees that its line arrived
                self.later(self.lines.echo(prompt))
            return
        if prompt.uuid:
            self.later(self.lines.tell_lifecycle(prompt.uuid, "queued"))
        if prompt.priority == "now" and self.turn is not None:
            self.turn.supersede()

    def set_variables(self, variables: Mapping[str, str]) -> None:
        """Change the environment of processes that tools start."""
        self.desk().environment.update(variables)

    def end_input(self) -> None:
        """The host sends nothing more."""
        self.queue.end()
        self._may_start.set()

    def interrupt(self) -> bool:
        """Interrupt the running turn. Returns whether there was one."""
        if self.turn is None:
            return False
        self.turn.interrupt()
        return True

    def _interrupt_turn(self) -> None:
        self.interrupt()

    def end_after_turn(self) -> bool:
        """Interrupt the running turn and end after its result, which then does not make the exit code 1."""
        self._interrupted_by_signal = True
        interrupted = self.interrupt()
        self.queue.clear()
        self.queue.end()
        return interrupted

    def _end_session(self) -> None:
        """Interrupt the running turn and end after its result, or end at once if none runs.

        Prompts that arrived just before, and of which nothing was shown yet, are answered first.
        """
        self._ended = True
        self._may_start.set()
        if self.turn is not None and self.turn.shows:
            self.queue.clear()
            self.turn.interrupt()
        elif self.turn is None and not self._starts_turn and not len(self.queue):
            self.host.stop(self._exit_code())

    def _exit_code(self) -> int:
        return 1 if self.lines.last_failed and not self._interrupted_by_signal else 0

    async def run(self) -> int:
        """Run turns until the input has ended and no task is running. Returns the exit code."""
        self._runs = True
        if self.arguments.await_initialize:
            await self._may_start.wait()
        if self.hub.made:
            self.hub().start()
        try:
            await self._start_hooks()
            await self._run_turns()
        finally:
            await self._end_hooks()
        return self._exit_code()

    async def _run_turns(self) -> None:
        while prompts := await self._next_prompts():
            from handrail.agent.conversation.turn import Turn  # here: the handshake is already answered

            await self._states.set("running")
            await self._loaded()
            self._begin_conversation()
            parts = self._turn_parts()
            self.turn = Turn(parts, prompts)  # from here on, an interrupt ends this turn
            self._starts_turn = False
            if self.suggestions.made:
                await self.suggestions().cancel()
            await asyncio.gather(*self._before_turn)  # lines about a prompt come before its turn
            await self.environment().read()
            await parts.thread.announce_instructions("session_start")
            if await self.turn.run_command():
                self.turn = None
                if self._ended:
                    break
                continue
            parts.commands.begin_turn(prompts)
            try:
                await self.turn.run()
            finally:
                self.turn = None
                parts.commands.end_turn()
            if self._ended:
                break
            self._suggest()
        if self.suggestions.made:
            await self.suggestions().finish()

    def _begin_conversation(self) -> None:
        """Before the first turn: report an unknown agent."""
        if self._began:
            return
        self._began = True
        name = self.session.agent_name
        if name and name not in self.agents.kinds:
            print(self.agents.unknown(name), file=sys.stderr, flush=True)

    async def _next_prompts(self) -> list[Prompt]:
        """Wait for prompts; none are left when the input has ended and no task is running."""
        if not len(self.queue) and not self._has_tasks():
            await self._states.set("idle")
        prompts = await self.queue.next(self._has_tasks)
        self._starts_turn = bool(prompts)
        return prompts

    def _has_tasks(self) -> bool:
        return self.tasks.made and self.tasks().busy

    async def _start_hooks(self) -> None:
        """Run the SessionStart commands, and report the hooks that cannot run."""
        if self.extensions.hooks() and self.hooks().has_command("SessionStart"):
            await self._loaded()
            await self.thread().start_session(self.started_as)

    async def _end_hooks(self) -> None:
        """Run the SessionEnd commands. They have a time limit, so a cancellation does not stop them."""
        if not self.hooks.made or not self.hooks().has_command("SessionEnd"):
            return
        ending = asyncio.create_task(self.thread().exit_session(), name="handrail session end")
        while not ending.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([ending])
        if not ending.cancelled() and (error := ending.exception()) is not None:
            print(f"SessionEnd: {error}", file=sys.stderr, flush=True)

    async def give_up(self) -> bool:
        """End the running turn without a result, because the process ends. Returns False if no turn runs."""
        if self.turn is None:
            return False
        self._ended = True
        await self.turn.give_up()
        return True

    async def close(self) -> None:
        """End everything that still runs."""
        self._closing = True
        if self.suggestions.made:
            await self.suggestions().cancel()
        if self.tasks.made:
            await self.tasks().stop_all()
        if self.hooks.made:
            await self.hooks().close()
        if self.hub.made:
            await self.hub().close()
        if self.model.made:
            await self.model().close()
        self.transcript.close()
