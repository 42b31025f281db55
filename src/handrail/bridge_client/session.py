"""One session of a bridge: its events as messages for a listener, prompts with their results, questions and answers."""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal
from uuid import uuid4

import msgspec
from msgspec import Raw, Struct

from handrail.bridge_client.base import CommandFailed, Listener
from handrail.bridge_client.connection import BridgeConnection, Event
from handrail.client.callbacks import Allow, Deny, ElicitationAnswer, ElicitationRequest, PermissionRequest
from handrail.client.errors import TurnCancelled
from handrail.errors import CallerError, HandrailError, PeerError
from handrail.protocol import Message, TurnTable, decode
from handrail.schema.handshake import Model, SlashCommand
from handrail.schema.messages import UserMessage, read_message
from handrail.schema.result_message import ResultMessage
from handrail.schema.view import ViewError, read_view

__all__ = ["ServerSession", "answer_fields"]

log = logging.getLogger("handrail.bridge_client")

JsonObject = dict[str, Any]
Reply = Allow | Deny | ElicitationAnswer
TAIL: Final = 5000
"""Events that are read of a session whose history is not wanted, to know its turn and its open questions."""
MOST_SAID: Final = 256
"""Prompts that are remembered until the CLI begins with them."""


class _Asked(Struct):
    """A question that is pending. `offered` are the suggestions that may be granted."""

    question: str
    kind: Literal["permission", "questions", "plan", "elicitation"]
    hash: str
    request: Raw
    offered: list[JsonObject] = msgspec.field(default_factory=list[JsonObject], name="suggestions")


class _Facts(Struct):
    """The fields of the bridge's own events."""

    uuid: str = ""
    content: str | list[JsonObject] = ""
    question: str = ""
    state: str = ""
    error: str = ""
    why: str = ""
    mode: str = ""
    model: str = ""
    title: str = ""


class _About(Struct):
    models: list[Model] = msgspec.field(default_factory=list[Model])
    commands: list[SlashCommand] = msgspec.field(default_factory=list[SlashCommand])


class _Imported(Struct):
    imported: bool = False


class _Prompt(Struct, eq=False):
    """A prompt of this client. `accepted` is set once the bridge has answered, whether it took the prompt or not.

    `failure`: why this client takes the prompt back itself.
    """

    ended: asyncio.Future[ResultMessage]
    accepted: asyncio.Event
    is_sent: bool = False
    failure: HandrailError | None = None


class ServerSession:
    """A session that runs on a bridge. It continues there when this client ends."""

    def __init__(self, connection: BridgeConnection, session_id: str, listener: Listener) -> None:
        self.id = session_id
        self.cwd, self.mode, self.model = "", "default", ""
        self.may_bypass = False
        """Only the server knows whether the mode bypassPermissions is allowed, so it is not offered."""
        self.models: list[Model] = []
        self.commands: list[SlashCommand] = []
        self._connection, self._listener = connection, listener
        self._turns = TurnTable()
        self._silent = False
        self._prompts: dict[str, _Prompt] = {}
        self._own: set[str] = set()
        self._said: dict[str, str | list[JsonObject]] = {}
        self._open: dict[str, _Asked] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._caught_up = asyncio.Event()

    async def open(self, *, history: bool) -> None:
        """Follow the session; with `history` the listener gets its events from the first one. Raises HandrailError."""
        self._silent = not history
        record = await self._connection.follow(
            self.id, take=self._take, caught_up=self._is_caught_up, lost=self._lost, tail=0 if history else TAIL
        )
        self.cwd, self.mode, self.model = (str(record.get(name) or "") for name in ("cwd", "mode", "model"))
        await self._caught_up.wait()
        about = msgspec.convert(await self._do("about"), _About, strict=False)
        self.models, self.commands = about.models, about.commands

    async def close(self) -> None:
        """Stop following. The session continues."""
        for task in [*self._asking.values(), *self._tasks]:
            task.cancel()
        await asyncio.gather(*self._asking.values(), *self._tasks, return_exceptions=True)
        self._lost(CallerError("the session was closed here; it continues on the server"))
        await self._connection.unfollow(self.id)

    # Requests

    async def prompt(self, blocks: Sequence[Mapping[str, Any]]) -> ResultMessage:
        """Send a prompt and wait for its result; the listener has received everything before. Raises HandrailError."""
        text = "\n\n".join(str(one["text"]) for one in blocks if one["type"] == "text")
        uuid = str(uuid4())
        asked = self._prompts[uuid] = _Prompt(asyncio.get_running_loop().create_future(), asyncio.Event())
        try:
            images = [await self._connection.link.upload(_image(one)) for one in blocks if one["type"] == "image"]
            if not asked.ended.done():  # else it was cancelled during an upload
                asked.is_sent = True
                self._own.add(uuid)
                try:
                    await self._do("send", text=text, images=images, uuid=uuid)
                finally:
                    asked.accepted.set()
            return await asked.ended
        finally:
            del self._prompts[uuid]

    async def interrupt(self) -> None:
        """Stop the prompts of this client: the running one is interrupted, others are taken back. Raises HandrailError.

        Only the bridge knows which turn runs when it gets the command, so it decides for each prompt. The turns and
        the queued prompts of other clients go on.
        """
        for uuid, asked in reversed(list(self._prompts.items())):  # else the end of the first would begin the next
            if asked.is_sent:
                await asked.accepted.wait()
                await self._do("cancel_prompt", uuid=uuid)
            else:
                self._end(uuid, TurnCancelled(uuid))

    async def set_permission_mode(self, mode: str) -> None:
        """Change the permission mode. Raises HandrailError."""
        await self._do("set_permission_mode", mode=mode)

    async def set_model(self, model: str) -> None:
        """Change the model. Raises HandrailError."""
        await self._do("set_model", model=model)

    async def _do(self, command: str, **fields: Any) -> JsonObject:
        return await self._connection.command(command, session=self.id, **fields)

    # Events

    async def _take(self, event: Event) -> None:
        raw = bytes(event.data)
        if event.kind in ("frame", "live"):
            await self._frame(raw, live=event.kind == "live")
        elif event.kind == "crashed":
            await self._crashed(raw)
        elif event.kind == "asked":
            self._asked(raw, stored=event.stored)
        else:
            await self._told(event.kind, _facts(raw))

    async def _told(self, kind: str, facts: _Facts) -> None:
        match kind:
            case "said":
                self._said[facts.uuid] = facts.content
                if len(self._said) > MOST_SAID:
                    del self._said[next(iter(self._said))]
            case "handed":
                self._turns.send(facts.uuid)
            case "withdrawn" | "held":
                self._turns.withdraw(facts.uuid)
                asked = self._prompts.get(facts.uuid)
                self._end(facts.uuid, (asked and asked.failure) or TurnCancelled(facts.uuid))
            case "doubted":
                self._end(facts.uuid, PeerError("the CLI ended before it confirmed the prompt; send it again"))
            case "answered" | "closed":
                self._settled(facts.question)
            case "started":
                self._turns = TurnTable()
            case "ended":
                for uuid in self._turns.close():
                    self._end(uuid, PeerError(facts.why or "the process of the session was ended"))
            case "state" if facts.state == "failed":
                failure = PeerError(facts.error or "the CLI could not be started")
                for uuid, asked in self._prompts.items():
                    asked.failure = failure
                    self._start(self._give_up(uuid, failure))
            case "changed":
                self.mode, self.model = facts.mode or self.mode, facts.model or self.model
                if not self._silent:
                    await self._listener.changed(mode=facts.mode, model=facts.model, title=facts.title)
            case _:
                return

    async def _frame(self, raw: bytes, *, live: bool) -> None:
        message = decode(raw)
        if not isinstance(message, Message):
            return
        step = self._turns.receive(message)
        for uuid in step.began:
            await self._begun(uuid)
        view = read_message(message.type, message.subtype, raw)
        imported = not live and isinstance(view, UserMessage) and _is_imported(raw)
        if not self._silent:
            await self._listener.received(view, stored=imported)
        if isinstance(view, ResultMessage):
            for uuid in step.ended:
                self._end(uuid, view)
        for uuid in step.cancelled:
            self._end(uuid, TurnCancelled(uuid))

    async def _crashed(self, raw: bytes) -> None:
        """A result of the bridge in place of one that the CLI will not send."""
        view = read_message("result", "", raw)
        if not self._silent:
            await self._listener.received(view, stored=False)
        for uuid in self._turns.close():
            self._end(uuid, view if isinstance(view, ResultMessage) else PeerError("the turn was lost"))

    async def _begun(self, uuid: str) -> None:
        """The CLI began with a prompt. The listener gets those of other clients."""
        content = self._said.pop(uuid, None)
        if content is None or uuid in self._own or self._silent:
            return
        line = {"type": "user", "message": {"role": "user", "content": content}, "uuid": uuid}
        await self._listener.received(read_message("user", "", msgspec.json.encode(line)), stored=True)

    def _end(self, uuid: str, outcome: ResultMessage | HandrailError) -> None:
        asked = self._prompts.get(uuid)
        if asked is None or asked.ended.done():
            return
        if isinstance(outcome, HandrailError):
            asked.ended.set_exception(outcome)
        else:
            asked.ended.set_result(outcome)

    async def _give_up(self, uuid: str, failure: HandrailError) -> None:
        """Take back a prompt that no process can get, so that it does not run when no one expects it."""
        await self._do("cancel_queued", uuid=uuid)
        self._end(uuid, failure)

    def _is_caught_up(self) -> None:
        self._silent = False
        self._caught_up.set()
        for asked in self._open.values():
            self._ask(asked)

    def _lost(self, error: HandrailError) -> None:
        for uuid in list(self._prompts):
            self._end(uuid, error)
        self._caught_up.set()

    # Questions

    def _asked(self, raw: bytes, *, stored: bool) -> None:
        try:
            asked = msgspec.json.decode(raw, type=_Asked)
        except msgspec.MsgspecError as error:
            log.warning("a question of session %s cannot be shown: %s", self.id, error)
            return
        self._open[asked.question] = asked
        if not stored:  # else it may have been answered since, as a later event says
            self._ask(asked)

    def _settled(self, question: str) -> None:
        """It was answered, here or by another client, or withdrawn."""
        self._open.pop(question, None)
        if (task := self._asking.pop(question, None)) is not None:
            task.cancel()

    def _ask(self, asked: _Asked) -> None:
        if asked.question not in self._asking:
            self._asking[asked.question] = self._start(self._answer(asked))

    def _start(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.info("session %s: %s", self.id, error)  # a question stays open for the other clients

    async def _answer(self, asked: _Asked) -> None:
        request, reply = await self._reply(asked)
        fields = answer_fields(request, reply, asked.offered)
        try:
            await self._do("answer", question=asked.question, hash=asked.hash, **fields)
        except CommandFailed as refusal:
            if refusal.code != "not_pending":  # another client was first
                raise

    async def _reply(self, asked: _Asked) -> tuple[PermissionRequest | ElicitationRequest, Reply]:
        raw, listener = bytes(asked.request), self._listener
        try:
            if asked.kind == "elicitation":
                elicitation = read_view(ElicitationRequest, raw)
                return elicitation, await listener.elicitation(elicitation)
            request = read_view(PermissionRequest, raw)
        except ViewError as error:
            raise PeerError(f"a question cannot be shown: {error}") from None
        return request, await (listener.plan if asked.kind == "plan" else listener.permission)(request)


def answer_fields(
    request: PermissionRequest | ElicitationRequest, reply: Reply, offered: Sequence[JsonObject]
) -> JsonObject:
    """A reply in the form of the command `answer`. `offered` are the suggestions that the bridge would grant."""
    if isinstance(reply, ElicitationAnswer):
        accepted = reply.action == "accept"
        return {"behavior": "allow", "content": dict(reply.content or {})} if accepted else {"behavior": "deny"}
    if isinstance(reply, Deny):
        return {"behavior": "deny", "reason": reply.reason, "interrupt": reply.interrupt}
    allowed: JsonObject = {"behavior": "allow"}
    if not isinstance(request, PermissionRequest):
        return allowed
    if reply.input is not None:
        answers = request.tool_name == "AskUserQuestion"
        allowed |= {"answers": reply.input["answers"]} if answers else {"input": dict(reply.input)}
    if request.tool_name == "ExitPlanMode":
        modes = [one.get("mode") for one in reply.updates if isinstance(one, Mapping)]
        return allowed | ({"mode": modes[0]} if modes else {})
    if reply.updates:
        granted = [at for at, suggestion in enumerate(request.suggestions) if suggestion in reply.updates]
        chosen = [
            {"index": one["index"], "destination": one["suggested"]} for one in offered if one["index"] in granted
        ]
        allowed |= {"updates": chosen} if chosen else {"remember": True}
    return allowed


def _facts(raw: bytes) -> _Facts:
    try:
        return msgspec.json.decode(raw, type=_Facts, strict=False)
    except msgspec.MsgspecError:
        return _Facts()


def _is_imported(raw: bytes) -> bool:
    try:
        return msgspec.json.decode(raw, type=_Imported).imported
    except msgspec.MsgspecError:
        return False


def _image(block: Mapping[str, Any]) -> bytes:
    try:
        return base64.b64decode(block["source"]["data"], validate=True)
    except (binascii.Error, ValueError):
        raise CommandFailed("no_picture", "an image of the prompt is not base64") from None
