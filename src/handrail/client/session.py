"""A conversation with one CLI process.

async with Session(Options(cwd="…")) as session:
    turn = await session.send("Fix the failing test")
    async for message in turn: ...
    print(turn.result.text, turn.result.cost_usd)
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, cast
from uuid import uuid4

from handrail.client.callbacks import Callbacks
from handrail.client.command_line import initialize_fields, split_mcp_servers
from handrail.client.controls import Controls
from handrail.client.errors import (
    ControlRefused,
    ControlTimeout,
    Disconnected,
    HandrailError,
    HandshakeFailed,
    StartFailed,
    TurnCancelled,
)
from handrail.client.hook_callbacks import HookCallbacks
from handrail.client.inbox import Inbox, Policy
from handrail.client.launch import Launch, recorded
from handrail.client.mcp_host import McpHost
from handrail.client.options import Options
from handrail.client.prompts import Image, Prompt, user_line
from handrail.client.pushed_commands import pushed_commands
from handrail.client.readers import Channel, ConversationReader, FrameReader, MessageReader, Readers, TurnReader
from handrail.client.turn import Turn, TurnResult
from handrail.client.usage import UsageMeter
from handrail.connection import Connection
from handrail.connection.connection import Direction
from handrail.protocol import BadLine, CancelRequest, Frame, Message, Request, Success, TurnTable, encode_message
from handrail.protocol.codec import SHORT, are_partials
from handrail.protocol.turns import Step, is_of_subagent
from handrail.schema.handshake import InitializeAnswer, SlashCommand
from handrail.schema.messages import read_message, read_partials
from handrail.schema.result_message import ResultMessage
from handrail.schema.system_messages import InitMessage
from handrail.transport.base import Ending, Transport

if TYPE_CHECKING:
    from handrail.client.transcript_mirror import TranscriptMirror
    from handrail.session_store.base import SessionKey, SessionStore

__all__ = ["Session"]

TIMEOUT_VARIABLE = "CLAUDE_CODE_STREAM_CLOSE_TIMEOUT"
DEFAULT_HANDSHAKE = 60.0
NAME_HINT = (
    "If an SDK MCP server is listed in mcp_servers or a config file, check that it has a `name`: "
    "older CLIs hang silently without one."
)
INTERRUPT_GRACE = 2.0
REMEMBERED = 256
"""Recent prompt uuids kept to reject duplicates."""
PRIORITIES = (None, "now", "next", "later")


class Session(Controls):
    """A conversation. Use it with `async with`; it is bound to the event loop it was started in."""

    def __init__(
        self,
        options: Options | None = None,
        *,
        transport: Transport | None = None,
        process: Callable[[Launch], Transport] = Launch.new_process,
    ) -> None:
        """`transport` replaces the CLI's process; `process` returns the transport to it, by default a new one."""
        self.options = options or Options()
        resumed = "" if self.options.fork_session else self.options.resume  # a fork has a new id
        self.id = self.options.session_id or resumed or ""
        self.info: InitMessage | None = None
        self.meter = UsageMeter(resumed=bool(self.options.resume or self.options.continue_conversation))
        self._given, self._process = transport, process
        self._launch: Launch | None = None
        self._mirror: TranscriptMirror | None = None
        self._connection: Connection | None = None
        self._hooks = HookCallbacks(self.options.hooks)
        _, servers = split_mcp_servers(self.options.mcp_servers)
        self._mcp = McpHost(servers, lambda name, message: self.mcp_message(name, message))
        self._table = TurnTable()
        self._turns: weakref.WeakValueDictionary[str, Turn] = weakref.WeakValueDictionary()
        self._messages: Readers[Inbox] = Readers()
        self._conversations: Readers[Inbox] = Readers()
        self._frames: Readers[Channel[tuple[Direction, Frame]]] = Readers()
        self._new_turns: Readers[Channel[Turn]] = Readers()
        self._handshake: asyncio.Task[InitializeAnswer] | None = None
        self._failing: asyncio.Task[Ending] | None = None
        self._sent: dict[str, None] = {}
        self._last_error = ""
        self._commands: list[SlashCommand] | None = None

    # Life
    async def __aenter__(self) -> Self:
        if self._connection is None or self.ending is not None:  # else it was prewarmed
            await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Start the CLI and the handshake. Raises CliNotFound, StartFailed or HandshakeFailed."""
        if self._connection is not None:
            raise RuntimeError("a session is started once; make a new one, with resume= to go on")
        try:
            await self._connect()
            self._handshake = asyncio.create_task(self._shake_hands(), name="handrail handshake")
            self._handshake.add_done_callback(self._end_if_failed)
            await asyncio.sleep(0)  # `initialize` is written now: a prompt before it would start without its fields
            if self.options.wait_until_ready:
                await self.ready()
        except BaseException:
            await self.close()
            raise

    async def ready(self) -> InitializeAnswer:
        """Wait for the handshake and return its answer: commands, agents, models, account."""
        if self._handshake is None:
            raise RuntimeError("the session has not been started; use `async with Session(…)`")
        return await asyncio.shield(self._handshake)

    @property
    def server_info(self) -> InitializeAnswer | None:
        """The CLI's answer to the handshake; None before it arrives."""
        if self._handshake is None or not self._handshake.done() or self._handshake.cancelled():
            return None
        return None if self._handshake_error() is not None else self._handshake.result()

    @property
    def commands(self) -> list[SlashCommand]:
        """The slash commands, under the names that run them: of the handshake, then of the last `commands_changed`."""
        return list(getattr(self.server_info, "commands", ()) if self._commands is None else self._commands)

    @property
    def capabilities(self) -> frozenset[str]:
        """The capabilities that the CLI reports; check these instead of version numbers."""
        told = self.info or self.server_info
        return frozenset(told.capabilities if told is not None else ())

    @property
    def pid(self) -> int | None:
        """The process id of the CLI; None without a process."""
        return self._connection.transport.pid if self._connection else None

    @property
    def ending(self) -> Ending | None:
        """How the CLI ended; None while it runs."""
        return self._connection.ending if self._connection else None

    @property
    def stderr(self) -> str:
        """The last lines of the CLI's stderr."""
        return self._connection.transport.stderr if self._connection else ""

    @property
    def running(self) -> bool:
        """Whether a turn is running."""
        return bool(self._table.running)

    async def close(self) -> Ending:
        """End the session: interrupt the running turn, then close stdin, then SIGTERM, then SIGKILL."""
        async with contextlib.AsyncExitStack() as last:  # each step runs even if another fails or is cancelled
            if self._launch is not None:
                last.callback(self._launch.clean)
            last.push_async_callback(self._mcp.close)
            if self._handshake is not None:
                last.callback(self._handshake.cancel)
            if self._mirror is not None:  # after the CLI has exited: it sends its last lines then
                last.push_async_callback(self._mirror.close)
            if self._connection is not None:
                last.push_async_callback(self._connection.close)
            if self._table.running and self.ending is None:
                with contextlib.suppress(HandrailError):
                    await self.interrupt(timeout=INTERRUPT_GRACE)
        return self.ending or Ending()

    async def store_flushed(self) -> None:
        """Wait until the session store has everything that the CLI wrote so far. Raises SessionStoreError.

        A turn does not wait for the store; call this where the next step needs the stored transcript.
        """
        if self._mirror is None:
            raise RuntimeError("the session has no store, or has not been started; give it Options(session_store=…)")
        await self._mirror.flushed()

    async def wait_closed(self) -> Ending:
        """Wait until the CLI exits by itself."""
        return await self._live().closed()

    # Talking
    async def send(
        self,
        prompt: Prompt,
        *,
        images: Sequence[Image] = (),
        uuid: str | None = None,
        priority: str | None = None,
        should_query: bool = True,
    ) -> Turn:
        """Send a prompt and return its turn; also while a turn runs, and before the handshake has ended.

        `prompt` is text or content blocks, `images` are paths or bytes, `priority` is "now", "next" or "later". With
        `should_query=False` the prompt joins the conversation without a model request.
        """
        if priority not in PRIORITIES:
            raise ValueError(f"priority {priority!r} is not one of now, next, later")
        fields = {
            "priority": priority,
            "shouldQuery": None if should_query else False,
            "client_composed": True if self.options.verbatim_prompts else None,
        }
        return await self.send_line(user_line(prompt, images, uuid or str(uuid4()), **fields))

    async def send_line(self, line: Mapping[str, Any]) -> Turn:
        """Send a line of type `user` as it is, in the form of the wire, and return its turn. A `uuid` is added."""
        connection = self._live()
        uuid = str(line.get("uuid") or uuid4())
        if self.has_sent(uuid):
            raise ValueError(f"the uuid {uuid} was used in this session; the CLI would drop the message")
        try:
            message = encode_message({**line, "uuid": uuid})
        except UnicodeEncodeError as error:
            raise ValueError(
                f"the prompt contains an unpaired surrogate at position {error.start}: it is not valid Unicode"
            ) from None
        self._sent[uuid] = None
        if len(self._sent) > REMEMBERED:
            del self._sent[next(iter(self._sent))]
        turn = self._turn(uuid)
        self._table.send(uuid)
        await connection.send(message)
        return turn

    async def end_input(self) -> None:
        """Tell the CLI that nothing more will be sent: it finishes its turns and exits. Requests fail from now on."""
        await self._live().transport.end_input()

    def has_sent(self, uuid: str) -> bool:
        """Whether a recent prompt had this uuid; the CLI drops a duplicate."""
        return uuid in self._sent

    def is_open(self, uuid: str) -> bool:
        """Whether the CLI was sent this prompt and has neither ended its turn nor dropped it."""
        return uuid in self._table.running or uuid in self._table.pending

    async def ask(self, prompt: Prompt, *, images: Sequence[Image] = ()) -> TurnResult:
        """Send a prompt and wait for its result. Raises TurnFailed."""
        turn = await self.send(prompt, images=images)
        return (await turn).raise_for_error()

    async def request(self, subtype: str, fields: Mapping[str, Any], *, timeout: float | None = None) -> Success:
        """Send a control request and return its answer as a frame."""
        seconds = self.options.control_timeout if timeout is None else timeout
        return await self._live().request(subtype, fields, timeout=seconds)

    # Following
    def messages(self, *, limit: int | None = None, policy: Policy | None = None) -> MessageReader:
        """An independent reader of the messages from now on. `limit`: bytes it may lag before `policy` applies."""
        inbox = self._inbox(limit, policy)
        reader = MessageReader(inbox)
        self._messages.follow(reader, inbox)
        return reader

    def conversation(self) -> ConversationReader:
        """Messages from now on, with the CLI's requests at their place between them."""
        inbox = self._inbox()
        reader = ConversationReader(inbox)
        self._conversations.follow(reader, inbox)
        return reader

    def frames(self) -> FrameReader:
        """A reader of all raw frames from now on, in both directions; includes the handshake if opened before start."""
        channel: Channel[tuple[Direction, Frame]] = Channel()
        reader = FrameReader(channel)
        self._frames.follow(reader, channel)
        if self._connection is not None:
            self._connection.tap = self._tap
        return reader

    def turns(self) -> TurnReader:
        """A reader of the turns that begin from now on, including those that the CLI starts."""
        channel: Channel[Turn] = Channel()
        reader = TurnReader(channel)
        self._new_turns.follow(reader, channel)
        return reader

    # Inside
    def _end_if_failed(self, handshake: asyncio.Task[InitializeAnswer]) -> None:
        """Close the session after a failed handshake, so that pending waits end."""
        if not handshake.cancelled() and handshake.exception() is not None:
            self._failing = asyncio.create_task(self._live().close())

    def _handshake_error(self) -> BaseException | None:
        done = self._handshake is not None and self._handshake.done() and not self._handshake.cancelled()
        return self._handshake.exception() if done and self._handshake is not None else None

    def _live(self) -> Connection:
        if self._connection is None:
            raise RuntimeError("the session has not been started; use `async with Session(…)`")
        return self._connection

    async def _connect(self) -> None:
        if self.options.session_store is not None:
            self._mirror = self._new_mirror(self.options.session_store)
        if self._given is None:
            self._launch = await self._prepare_launch()
            transport = self._launch.transport(self._process)
        else:
            transport = recorded(self._given, self.options, self._shown(), self.options.env)
        handlers = {
            **Callbacks(self.options).handlers,
            "hook_callback": self._hooks.handle,
            "mcp_message": self._mcp.handle,
        }
        connection = self._connection = Connection(
            transport,
            on_messages=self._on_messages,
            take_partials=self._take_partials,
            on_end=self._on_end,
            on_request=self._on_request,
            handlers=handlers,
            line_limit=self.options.max_buffer_size,
        )
        connection.tap = self._tap if self._frames.inboxes else None
        await self._mcp.open()
        try:
            await connection.start()
        except OSError as error:
            raise StartFailed(str(error), self._shown()) from error

    def _new_mirror(self, store: SessionStore) -> TranscriptMirror:
        from handrail.client.transcript_mirror import TranscriptMirror

        return TranscriptMirror(
            store,
            eager=self.options.session_store_flush == "eager",
            timeout=self.options.session_store_append_timeout,
            report=self._report_mirror_error,
        )

    def _report_mirror_error(self, error: str, key: SessionKey | None) -> None:
        """Show a failure of the session store to the readers, as a message of the type that other SDKs use."""
        fields = {"error": error, "key": key, "uuid": str(uuid4()), "session_id": self.id}
        message = encode_message({"type": "system", "subtype": "mirror_error", **fields})
        for inbox in (*self._messages.inboxes, *self._conversations.inboxes):
            inbox.put([message])
        self._give(self._table.running, [message])

    async def _prepare_launch(self) -> Launch:
        if self.options.session_store is None:
            return Launch(self.options)
        from handrail.client.stored_resume import load_transcript

        stored = await load_transcript(self.options)
        if stored is None:
            return Launch(self.options)
        if not self.options.fork_session:
            self.id = stored.key["session_id"]
        # In a thread, because a long transcript takes a while to write.
        making = asyncio.ensure_future(asyncio.to_thread(Launch, self.options, stored))
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            making.add_done_callback(lambda made: made.exception() or made.result().clean())
            raise

    async def _shake_hands(self) -> InitializeAnswer:
        fields = initialize_fields(self.options, self._hooks.registration, self._mcp.names)
        connection = self._live()
        if not connection.transport.can_control:
            return InitializeAnswer()
        try:
            return await self.initialize(fields, timeout=self._handshake_timeout())
        except ControlTimeout as error:
            problem = f"no answer within {error.seconds:g} s (initialize_timeout= or {TIMEOUT_VARIABLE} change that)"
            raise HandshakeFailed(f"{problem}. {NAME_HINT}", self._shown(), self.stderr) from None
        except ControlRefused as error:
            raise HandshakeFailed(f"the CLI refused: {error.error}", self._shown(), self.stderr) from None
        except Disconnected as error:
            problem = f"it ended before the handshake ({error.ending.describe()})"
            problem += f": {self._last_error}" if self._last_error else ""
            raise StartFailed(problem, self._shown(), error.stderr) from None

    def _handshake_timeout(self) -> float:
        if self.options.initialize_timeout is not None:
            return self.options.initialize_timeout
        given = os.environ.get(TIMEOUT_VARIABLE, "")
        return max(int(given) / 1000, 1.0) if given.isdecimal() else DEFAULT_HANDSHAKE

    def _shown(self) -> list[str]:
        return self._launch.shown if self._launch is not None else [type(self._given).__name__]

    def _inbox(self, limit: int | None = None, policy: Policy | None = None) -> Inbox:
        return Inbox(limit=limit or self.options.inbox_limit, policy=policy or self.options.inbox_policy)

    def _turn(self, uuid: str, *, from_cli: bool = False) -> Turn:
        turn = self._turns[uuid] = Turn(self, uuid, self._inbox(), from_cli=from_cli)
        return turn

    def _tap(self, direction: Direction, frame: Frame) -> None:
        for channel in self._frames.inboxes:
            channel.put((direction, frame))

    def _on_messages(self, messages: list[Message]) -> None:
        if self._mirror is not None:
            # First: a store that answers at once has the turn before a reader has its result.
            messages = self._mirror.take(messages)
        for inbox in self._messages.inboxes:
            inbox.put(messages)
        for inbox in self._conversations.inboxes:
            inbox.put(messages)
        start, running = 0, self._table.running
        for i, message in enumerate(messages):
            if message.type == "stream_event" and running:
                continue
            self._give(running, messages[start:i])
            self._take(message)
            start, running = i + 1, self._table.running
        self._give(running, messages[start:])

    def _take_partials(self, lines: Sequence[bytes | BadLine]) -> bool:
        """Deliver the lines of a chunk if all are stream events of a running turn. Returns whether they were.

        These are by far the most frequent messages. If one reader alone follows and keeps up, they are decoded here
        and nowhere else; otherwise only their types are, and each reader decodes what it reads.
        """
        if not self._table.running:
            return False  # one of them may begin a turn
        turns = [turn for uuid in self._table.running if (turn := self._turns.get(uuid)) is not None]
        followed = [*(turn.inbox for turn in turns), *self._messages.inboxes]
        alone = len(followed) == 1 and not self._conversations.inboxes and followed[0].is_read_at_once
        views = read_partials(lines, below=SHORT) if alone else None
        if views is None and (alone or not are_partials(lines)):
            return False
        for inbox in (*followed, *self._conversations.inboxes):
            inbox.put_partials(cast("list[bytes]", lines), views)
        return True

    def _on_request(self, frame: Request | CancelRequest) -> None:
        for inbox in self._conversations.inboxes:
            inbox.put((frame,))

    def _give(self, turns: tuple[str, ...], messages: list[Message]) -> None:
        if messages:
            for uuid in turns:
                if (turn := self._turns.get(uuid)) is not None:
                    turn.inbox.put(messages)

    def _take(self, message: Message) -> None:
        step = self._table.receive(message)
        if step.began:
            self._begin(step)
        self._give(step.turns, [message])
        self._note(message, step)

    def _begin(self, step: Step) -> None:
        for uuid in step.began:
            turn = self._turns.get(uuid) or self._turn(uuid, from_cli=uuid.startswith("cli_"))
            turn.state = "running"
            for channel in self._new_turns.inboxes:
                channel.put(turn)

    def _note(self, message: Message, step: Step) -> None:
        """Apply a message to the state of the session: its info, its commands, its costs."""
        if message.type == "assistant":
            self.meter.see(message.raw)
        elif message.type in ("result", "system") and is_of_subagent(message):
            pass  # a subagent's model, mode and cost are not those of the session
        elif message.type == "result":
            self._end_turns(message, step)
        elif message.type == "conversation_reset":
            self.meter.reset()
        elif message.subtype == "commands_changed":
            self._commands = pushed_commands(message, self._commands)
        elif message.subtype == "init":
            info = read_message(message.type, message.subtype, message.raw)
            if isinstance(info, InitMessage):
                self.info, self.id = info, info.session_id or self.id
        for uuid in step.cancelled:
            if (turn := self._turns.get(uuid)) is not None:
                turn.end(None, TurnCancelled(uuid))

    def _end_turns(self, message: Message, step: Step) -> None:
        view = read_message(message.type, message.subtype, message.raw)
        if not isinstance(view, ResultMessage):
            view = ResultMessage(
                reported_is_error=True, subtype="error", reported_errors=["the CLI sent a result of unknown shape"]
            )
        self._last_error = view.text if view.is_error else ""
        result = TurnResult(message=view, used=self.meter.add(view), context_tokens=self.meter.context_tokens)
        for uuid in step.ended:
            if (turn := self._turns.get(uuid)) is not None:
                turn.end(result)

    def _on_end(self, ending: Ending) -> None:
        self._table.close()
        for turn in list(self._turns.values()):
            if not turn.done:
                error = Disconnected(ending, "the turn was cut short")
                error.__cause__ = self._handshake_error()
                turn.end(None, error)
        for readers in (self._messages, self._conversations, self._frames, self._new_turns):
            readers.end()
