"""An ACP agent as the brain behind the protocol of the CLI: prompts become its turns, its updates become lines."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any, Final, cast, get_args

import msgspec

from handrail.acp.agents.agent_process import AgentError, AgentProcess
from handrail.acp.agents.answer_lines import AnswerLines
from handrail.acp.agents.choices import Choices
from handrail.acp.agents.client_files import ClientFiles
from handrail.acp.agents.elicitations import Elicitations
from handrail.acp.agents.opening import latest_session, open_session
from handrail.acp.agents.permission_requests import PermissionRequests
from handrail.acp.agents.prompt_blocks import prompt_blocks
from handrail.acp.agents.stored_sessions import StoredSession, StoredSessions
from handrail.acp.agents.usage import UsageCount
from handrail.acp.rpc import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from handrail.agent.arguments import VERSION
from handrail.agent.base import Host, Output, Prompt
from handrail.agent.conversation.queue import PromptQueue
from handrail.agent.conversation.state_events import StateEvents
from handrail.agent.session import Session
from handrail.agent.speaker import Speaker, synthetic_message
from handrail.connection import Handler
from handrail.permissions.modes import MODES
from handrail.schema.acp import messages as acp
from handrail.schema.activity_messages import CommandLifecycleMessage
from handrail.schema.result_message import ResultMessage
from handrail.schema.system_messages import StatusMessage
from handrail.schema.view import build_line
from handrail.settings.private_file import PrivateFileError

__all__ = ["AcpBrain"]

JsonObject = dict[str, Any]
CANCEL_GRACE: Final = 10.0
"""Seconds that an interrupted agent has to end its turn, before the turn ends without it."""
LAST_GRACE: Final = 1.0
"""Seconds that an agent has to end its turn when the session ends; then it is ended."""
COMMANDS_WAIT: Final = 0.3
"""Seconds to wait for the commands of a new session: agents send them right after they have opened it."""
MOST_UNWRITTEN: Final = 64
"""Unwritten updates above which no more output of the agent is read."""
MOST_LATE: Final = 1000
"""Updates between two turns that are kept for the next turn; more are dropped."""
MOST_REPORTS: Final = 3
"""Invalid messages of the agent that are reported to the host; all are logged."""
_KINDS: Final = frozenset(get_args(acp.ToolKind))


class AcpBrain:
    """One session of one agent. `log` gets lines for the debug log.

    The agent is started when it is first needed: by the handshake, or by a prompt.
    """

    def __init__(
        self,
        session: Session,
        command: list[str],
        *,
        output: Output,
        host: Host,
        log: Callable[[str], None],
    ) -> None:
        self.session, self.host, self.command = session, host, command
        self.arguments = session.arguments
        self.stored = StoredSessions(session.config_home)
        self.earlier, self.resumed = "", ""
        """The agent's id of the session to continue, and ours."""
        self.continues_latest = False
        """Whether the session to continue is the newest in the agent's own list."""
        self.queue, self.choices, self.usage = PromptQueue(), Choices(), UsageCount()
        self.speaker = Speaker(
            output, lambda: session.id, record=lambda _: None, partial=self.arguments.include_partial_messages
        )
        self.lines = AnswerLines(self.speaker, lambda: self.model, session.cwd)
        self._states = StateEvents(self.speaker, session.environment)
        self._log = log
        asks = self.arguments.permission_prompt_tool == "stdio" and host.listens
        self._permissions = PermissionRequests(
            session,
            self.speaker,
            self.lines,
            ask_host=self._states.around(lambda fields: host.ask("can_use_tool", fields)) if asks else None,
            settled=self._settled,
            interrupt=self._interrupt_turn,
        )
        self._files = ClientFiles(session, self._permissions, self._report)
        self._elicitations = Elicitations(
            lambda: self.agent.name,
            self._states.around(lambda fields: host.ask("elicitation", fields)) if host.listens else None,
        )
        self._requests: Mapping[str, Callable[[Any], Coroutine[Any, Any, Any]]] = {
            "elicitation/create": self._elicitations.answer,
            "session/request_permission": self._permissions.answer,
            "fs/read_text_file": self._files.read,
            "fs/write_text_file": self._files.write,
        }
        self.agent = AgentProcess(
            command,
            cwd=session.cwd,
            environment=session.environment,
            answer=self._answer,
            noticed=self._noticed,
            pause=self._pause,
            damaged=self._damaged,
            ended=self._agent_ended,
            log=log,
            has_user=host.listens,
        )
        self.agent_session = ""
        self.mode = session.mode
        """The permission mode as hosts know it: the one they chose, or the agent's own after the agent changed it."""
        self._opening: asyncio.Task[None] | None = None
        self._updates: asyncio.Queue[Any] = asyncio.Queue()
        self._writing: asyncio.Task[None] | None = None
        self._has_commands = asyncio.Event()
        self._before_turn: set[asyncio.Task[None]] = set()
        self._may_start = asyncio.Event()
        self._held: list[Prompt] = []
        """Prompts that the agent gets with the next one."""
        self._late: list[acp.SessionUpdate] = []
        """Updates that came between two turns."""
        self._prompting: asyncio.Task[Any] | None = None
        self._is_opened = self._in_turn = self._interrupted = self._interrupted_calls = self._dropped = False
        self._by_signal = self._failed = self._dead = self._closing = False
        self._reports = self._results = 0

    @property
    def model(self) -> str:
        """The current model, or the name of the agent if it does not report one."""
        return self.choices.models.current or self.agent.name

    @property
    def is_running(self) -> bool:
        """Whether a turn runs."""
        return self._in_turn

    # The brain, as the host's side sees it

    def handlers(self) -> Mapping[str, Handler]:
        from handrail.acp.agents.controls import AcpControls
        from handrail.agent.controls.table import handlers

        return handlers(AcpControls(self))

    def put(self, prompt: Prompt) -> None:
        if self.queue.put(prompt) and prompt.uuid:
            self.later(self._lifecycle("queued", [prompt.uuid]))

    def set_variables(self, variables: Mapping[str, str]) -> None:
        print("environment updates do not reach an ACP agent and are ignored", file=sys.stderr, flush=True)

    def end_input(self) -> None:
        self.queue.end()
        self._may_start.set()

    def end_after_turn(self) -> bool:
        self._by_signal = True
        self._interrupt_turn()
        self.queue.clear()
        self.queue.end()
        return self._in_turn

    async def run(self) -> int:
        if self.arguments.await_initialize:
            await self._may_start.wait()
        while not self._dead and not self._dropped:
            if not len(self.queue):
                await self._states.set("idle")
            prompts = await self.queue.next(lambda: False)
            if not prompts:
                break
            self._in_turn, self._interrupted, self._interrupted_calls = True, False, False
            await self._states.set("running")
            await asyncio.gather(*self._before_turn)  # lines about a prompt come before its turn
            try:
                await self._turn(prompts)
            finally:
                self._in_turn = False
        return 1 if (self._failed and not self._by_signal) or self._dead else 0

    async def give_up(self) -> bool:
        if not self._in_turn:
            return False
        self._dropped = True
        self._withdraw_questions()
        if (prompting := self._prompting) is not None:
            self._cancel(prompting, LAST_GRACE)
        return True

    async def close(self) -> None:
        self._closing = True
        for task in (self._opening, self._writing):
            if task is not None:
                task.cancel()
        await self.agent.close()

    # The agent's session

    def initialized(self) -> None:
        """The host has sent its handshake."""
        self._may_start.set()

    async def ready(self) -> None:
        """Start the agent and open the session, once. Raises AgentError."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(), name="handrail acp session")
            self._writing = asyncio.create_task(self._write_updates(), name="handrail acp updates")
        await asyncio.shield(self._opening)

    @property
    def is_open(self) -> bool:
        """Whether the session is opened, or is being opened."""
        return self._opening is not None

    async def wait_for_commands(self) -> None:
        """Wait a moment for the commands of the agent, which come after the session was opened."""
        with suppress(TimeoutError):
            async with asyncio.timeout(COMMANDS_WAIT):
                await self._has_commands.wait()

    async def _open(self) -> None:
        session, arguments = self.session, self.arguments
        await self.agent.start()
        if self.continues_latest:
            self.earlier = await latest_session(self.agent, session.cwd)
        opened = await open_session(self.agent, session, self.earlier, fork=arguments.fork_session)
        await self._settled()  # the history of a loaded session is not written
        self.agent_session = opened.agent_session
        self.choices.take(opened.answer)
        if arguments.model:
            await self.choose_model(arguments.model)
        if session.mode != "default":
            await self.choose_mode(session.mode)
        if (earlier := self.stored.get(self.resumed or session.id)) is not None and not arguments.fork_session:
            session.title = session.title or earlier.title
        self._is_opened = True
        self.store()

    def store(self) -> None:
        """Store which session of the agent belongs to ours, so that it can be resumed."""
        if self.arguments.no_session_persistence:
            return
        kept = StoredSession(
            self.agent_session, self.command, self.session.cwd, self.session.title, self.usage.total_cost
        )
        try:
            self.stored.put(self.session.id, kept)
        except PrivateFileError as error:
            print(f"the session cannot be resumed later: {error}", file=sys.stderr, flush=True)

    async def choose_model(self, name: str) -> None:
        """Use a model of the agent. Raises AgentError."""
        models = self.choices.models
        if not models.names:
            raise AgentError(f"{self.agent.name} offers no choice of models; leave it out")
        if name not in models.names:
            raise AgentError(f"{self.agent.name} lacks the model {name[:80]!r}; it offers {', '.join(models.names)}")
        answer = await self.agent.request(models.method, models.request(self.agent_session, name))
        models.current = name
        self._take_config(answer)

    async def choose_mode(self, name: str) -> None:
        """Use a permission mode. Raises AgentError.

        Our modes decide the agent's permission requests, so only `plan` needs a mode of the agent too.
        """
        modes = self.choices.modes
        if name in modes.names:
            answer = await self.agent.request(modes.method, modes.request(self.agent_session, name))
            modes.current = name
            self._take_config(answer)
        elif name == "plan" or name not in MODES:
            offered = f"it offers {', '.join(modes.names)}" if modes.names else "it offers no modes"
            raise AgentError(f"{self.agent.name} lacks the mode {name[:80]!r}; {offered}")
        elif modes.current == "plan" and (other := next((id for id in modes.names if id != "plan"), "")):
            await self.agent.request(modes.method, modes.request(self.agent_session, other))
            modes.current = other
        if name in MODES:
            self.session.set_mode(name)
        self.mode = name

    def _take_config(self, answer: Any) -> None:
        if isinstance(answer, dict):
            self.choices.take_config(cast("JsonObject", answer).get("configOptions"))

    # A turn

    def interrupt(self) -> None:
        """Interrupt the running turn, if there is one."""
        self._interrupt_turn()

    def _interrupt_turn(self) -> None:
        if not self._in_turn or self._interrupted:
            return
        self._interrupted = True
        self._interrupted_calls = self.lines.has_open_calls  # agents may end them before they end the turn
        self._withdraw_questions()
        if (prompting := self._prompting) is not None:
            self._cancel(prompting, CANCEL_GRACE)

    def _withdraw_questions(self) -> None:
        self._permissions.withdraw()
        self._elicitations.withdraw()

    def _cancel(self, prompting: asyncio.Task[Any], grace: float) -> None:
        """Have the agent end its turn; after `grace` seconds the turn ends without it."""
        if self._is_opened:
            self.later(self.agent.notify("session/cancel", {"sessionId": self.agent_session}))
            asyncio.get_running_loop().call_later(grace, prompting.cancel)
        else:
            prompting.cancel()  # opening the session continues: `ready` shields it

    async def _turn(self, prompts: list[Prompt]) -> None:
        """Run one turn, from its first line to its result."""
        start = monotonic()
        uuids = [prompt.uuid for prompt in prompts if prompt.uuid]
        self.speaker.user_lines, self.speaker.prompts = 0, list(uuids)
        self.lines.begin()
        self._permissions.begin()
        self.usage.begin_turn()
        await self._lifecycle("started", uuids)
        try:
            fields = await self._ask_agent(prompts)
        except AgentError as error:
            self._dead = self._dead or error.ended
            fields = await self._failure(str(error), is_opened=self._is_opened)
        except Exception as error:  # a fault of ours: the turn still needs a result, and the session continues
            traceback.print_exc()
            fields = await self._failure(f"{type(error).__name__}: {error}", is_opened=True)
        if self._dropped:
            return
        if uuids:
            fields |= {"user_message_uuid": uuids[-1], "user_message_uuids": uuids}
        if stamp := next((prompt.stamp for prompt in prompts if prompt.stamp), None):
            fields["origin"] = stamp
        await self._say_result({"duration_ms": round((monotonic() - start) * 1000), **fields})
        await self._lifecycle("completed", uuids)

    async def _ask_agent(self, prompts: list[Prompt]) -> JsonObject:
        """Send the prompts and write the lines of the answer. Returns fields of the result. Raises AgentError."""
        self._prompting = asyncio.create_task(self.ready())
        await asyncio.wait([self._prompting])
        if self._prompting.cancelled():
            return await self._end("cancelled")
        self._prompting.result()
        if not self._results:
            await self.wait_for_commands()
        await self._say_init()
        if self.arguments.replay_user_messages:
            for prompt in prompts:
                extra: JsonObject = {"uuid": prompt.uuid} if prompt.uuid else {}
                await self.speaker.user(prompt.content, isReplay=True, **extra)
        if not any(prompt.asks for prompt in prompts):
            self._held += prompts
            return {"subtype": "success", "is_error": False, "result": "", "num_turns": 0}
        late, self._late = self._late, []
        for update in late:
            await self.lines.take(update)
        blocks = [
            block
            for prompt in (*self._held, *prompts)
            for block in prompt_blocks(prompt, self.agent.capabilities, self.agent.name)
        ]
        self._held = []
        stop = await self._prompt(blocks)
        await self._settled()
        return await self._end(stop)

    async def _prompt(self, blocks: list[acp.ContentBlock]) -> str:
        """Have the agent answer. Returns its stop reason; "" if the turn ended without the agent."""
        if self._interrupted or self._dropped:  # while the session was opened, or while earlier lines were written
            return "cancelled"
        request = acp.PromptRequest(session_id=self.agent_session, prompt=blocks)
        self._prompting = asyncio.create_task(self.agent.request("session/prompt", request))
        try:
            await asyncio.wait([self._prompting])
            if self._prompting.cancelled():
                return ""
            answer = msgspec.convert(self._prompting.result(), acp.PromptResponse)
        except msgspec.ValidationError as error:
            raise AgentError(f"{self.agent.name} ended the turn with an invalid message: {error}") from None
        finally:
            self._prompting = None
        if answer.usage is not None:
            self.usage.add(self.model, answer.usage)
        return answer.stop_reason

    async def _end(self, stop: str) -> JsonObject:
        """Close unfinished lines and calls. Returns the fields of the result that depend on the stop reason."""
        aborted = self._interrupted or stop in ("cancelled", "")
        in_tools = await self.lines.finish(interrupted=aborted) or self._interrupted_calls
        if aborted:
            reason = "aborted_tools" if in_tools else "aborted_streaming"
            text = "The turn was interrupted while " + ("tools ran" if in_tools else "the agent answered")
            return {"subtype": "error_during_execution", "is_error": True, "errors": [text], "terminal_reason": reason}
        if stop == "max_turn_requests":
            text = f"{self.agent.name} has reached its limit of requests in one turn"
            return {"subtype": "error_max_turns", "is_error": True, "errors": [text], "terminal_reason": "max_turns"}
        return {
            "subtype": "success",
            "is_error": False,
            "result": self.lines.text,
            "stop_reason": stop,
            "terminal_reason": "completed",
        }

    async def _failure(self, why: str, *, is_opened: bool) -> JsonObject:
        """Report a turn that failed. Returns the fields of its result."""
        if self._dropped:
            return {}
        if not is_opened:
            print(why, file=sys.stderr, flush=True)
            return {"subtype": "error_during_execution", "is_error": True, "errors": [why], "num_turns": 0}
        await self._settled()
        await self.lines.finish(interrupted=False)
        await self.speaker.assistant(synthetic_message(why), error="unknown", is_api_error_message=True)
        return {
            "subtype": "success",
            "is_error": True,
            "result": why,
            "stop_reason": "stop_sequence",
            "terminal_reason": "model_error",
        }

    # Lines around a turn

    async def _say_init(self) -> None:
        session = self.session
        await self.speaker.system(
            "init",
            cwd=session.cwd,
            model=self.model,
            permissionMode=self.mode,
            tools=[],
            mcp_servers=[],
            slash_commands=[command.name for command in self.choices.commands],
            terminal_slash_commands=[],
            output_style="default",
            agents=[],
            skills=[],
            plugins=[],
            apiKeySource="none",
            claude_code_version=VERSION,
            capabilities=["interrupt_receipt_v1", "interrupt_cancel_queued_v1"],
            memory_paths={},
            original_cwd=session.cwd,
            additional_directories=list(session.folders),
            fast_mode_state="off",
        )

    async def _say_result(self, fields: JsonObject) -> None:
        self._failed = bool(fields["is_error"])
        line = {
            "num_turns": 1 + self.speaker.user_lines,
            "stop_reason": None,
            "permission_denials": self._permissions.denials,
            "fast_mode_state": "off",
            "safety_stops": 0,
            "queued_turn_count": len(self.queue),
            "result_index": self._results,
            **self.usage.fields(),
            **fields,
        }
        self._results += 1
        self.session.turns += 1
        if self.agent_session:
            self.store()
        await self.speaker.say(build_line(ResultMessage, line))

    async def _lifecycle(self, state: str, uuids: list[str]) -> None:
        for uuid in uuids:
            await self.speaker.send(CommandLifecycleMessage(command_uuid=uuid, state=state))

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` as a task; the next turn starts after it."""
        task = asyncio.create_task(work)
        self._before_turn.add(task)
        task.add_done_callback(self._before_turn.discard)

    def _agent_ended(self) -> None:
        """End the session if the agent exits between turns; the host can resume it. A running turn reports the exit."""
        if not self._in_turn and not self._closing and self._is_opened:
            print(f"{self.agent.name} has ended", file=sys.stderr, flush=True)
            self.host.stop(1)

    # Messages of the agent

    async def _answer(self, method: str, params: Any) -> Any:
        serve = self._requests.get(method)
        if serve is None:
            raise RpcError(METHOD_NOT_FOUND, f"handrail-acp does not offer {method[:80]}")
        try:
            request: Any = msgspec.convert(_with_known_kind(params, "toolCall"), acp.REQUESTS[method][0])
        except msgspec.ValidationError as error:
            await self._report(f"an invalid {method}: {error}")
            raise RpcError(INVALID_PARAMS, f"{method}: {error}") from None
        # The scope of an elicitation is beside its fields, and may be another request instead of a session.
        session_id = cast("JsonObject", params).get("sessionId")
        if session_id != self.agent_session:
            raise RpcError(INVALID_PARAMS, f"the session {session_id!s:.80} is not open")
        if not self._in_turn:
            await self._report(f"{method} outside of a turn")
            raise RpcError(INVALID_PARAMS, f"{method} is only served while a prompt is answered")
        return await serve(request)

    def _noticed(self, method: str, params: Any) -> None:
        if method == "session/update":
            self._updates.put_nowait(params)
        else:
            self._log(f"ignored the notification {method[:80]}")

    def _damaged(self, reason: str, line: bytes) -> None:
        """Report a message that cannot be read, for a part of the answer may be lost; other text is only logged."""
        if line.lstrip().startswith(b"{"):
            self._updates.put_nowait(_Damaged(reason))
        else:
            self._log(f"ignored output that is not a message: {line[:200]!r}")

    async def _pause(self) -> None:
        """Stop reading the agent's output while many updates are unwritten, because the host may be slow."""
        if self._updates.qsize() > MOST_UNWRITTEN:
            await self._updates.join()

    async def _settled(self) -> None:
        """Wait until all updates so far are written."""
        await self._updates.join()

    async def _write_updates(self) -> None:
        while True:
            params = await self._updates.get()
            try:
                if isinstance(params, _Damaged):
                    await self._report(f"a damaged message: {params.reason}")
                else:
                    await self._take(params)
            except msgspec.ValidationError as error:
                await self._report(f"an invalid update: {error}")
            except Exception as error:  # a fault of ours must not stop the updates that follow
                traceback.print_exc()
                await self._report(f"an update that caused a fault: {type(error).__name__}")
            finally:
                self._updates.task_done()

    async def _take(self, params: Any) -> None:
        given = cast("JsonObject", params) if isinstance(params, dict) else {}
        known = get_args(acp.SessionUpdate)
        kind = cast("JsonObject", given["update"]).get("sessionUpdate") if isinstance(given.get("update"), dict) else ""
        if kind and kind not in {type.__struct_config__.tag for type in known}:
            self._log(f"ignored an update of the kind {kind!s:.80}")
            return
        notification = msgspec.convert(_with_known_kind(given, "update"), acp.SessionNotification)
        update = notification.update
        match update:
            case acp.AvailableCommandsUpdate():
                await self._commands_changed(update)
            case acp.CurrentModeUpdate():
                await self._mode_changed(update.current_mode_id)
            case acp.ConfigOptionUpdate():
                self._take_config(given["update"])
            case acp.SessionInfoUpdate(title=title) if title:
                self.session.title = title
                await self.speaker.system("session_title_changed", title=title, source="agent")
            case acp.UsageUpdate():
                self.usage.note(update)
            case _ if notification.session_id != self.agent_session:
                self._log("ignored an update of another session, or of the history of this one")
            case _ if self._in_turn and not self._dropped:
                await self.lines.take(update)
            case _ if not self._interrupted and len(self._late) < MOST_LATE:
                self._late.append(update)
            case _:
                self._log("ignored an update of a turn that has ended")

    async def _commands_changed(self, update: acp.AvailableCommandsUpdate) -> None:
        known = self._has_commands.is_set()
        self.choices.take_commands(update)
        self._has_commands.set()
        if known:
            commands = [msgspec.to_builtins(command) for command in self.choices.commands]
            await self.speaker.system("commands_changed", commands=commands)

    async def _mode_changed(self, mode: str) -> None:
        """The agent has changed its mode. Ours follows only to a mode that asks or denies: it decides the requests."""
        self.choices.modes.current = self.mode = mode
        if mode in ("default", "plan", "dontAsk") and mode != self.session.mode:
            self.session.set_mode(mode)
        await self.speaker.send(StatusMessage(permission_mode=self.mode))

    async def _report(self, problem: str) -> None:
        """Report an invalid message of the agent to the host, unless there were many, and log it."""
        text = f"{self.agent.name} sent {problem}"[:500]
        self._log(text)
        self._reports += 1
        if self._reports <= MOST_REPORTS:
            await self.speaker.system("informational", content=text, level="warning")


class _Damaged(msgspec.Struct):
    """A line of the agent that is not a message, in the order of the updates."""

    reason: str


def _with_known_kind(params: Any, part: str) -> Any:
    """A message about a tool call, with the kind `other` for a kind that is newer than our types."""
    given: JsonObject = cast("JsonObject", params) if isinstance(params, dict) else {}
    about: Any = given.get(part)
    fields: JsonObject = cast("JsonObject", about) if isinstance(about, dict) else {}
    if (kind := fields.get("kind")) is None or kind in _KINDS:
        return cast("Any", params)
    return {**given, part: {**fields, "kind": "other"}}
