"""Commands of the conversation: send, retry, cancel, hold, interrupt, answer."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from handrail.bridge.commands.table import AuditCall, Call, Fields, Id, OfSession, Text, command
from handrail.bridge.errors import CommandRefused
from handrail.bridge.session.delivery import Priority, Prompt
from handrail.bridge.session.questions import Answer
from handrail.bridge.session.sessions import Sessions
from handrail.bridge.store.base import EventLog
from handrail.bridge.store.uploads import Uploads

__all__ = ["PromptCommands"]

JsonObject = dict[str, Any]
FileName = Annotated[str, Meta(min_length=1, max_length=4096, pattern=r'^[^\x00-\x1f\x7f"]+$')]


class Send(Fields, frozen=True, kw_only=True):
    """A message of the user. `images`: ids of uploads; `files`: paths below the session's folder.

    `priority`: "now" is delivered before all queued messages, "later" after them. The real CLI interrupts the running
    turn for "now" and starts the next one with this message.
    """

    session: Id
    text: Text = ""
    images: Annotated[list[Id], Meta(max_length=20)] = []
    files: Annotated[list[FileName], Meta(max_length=50)] = []
    uuid: Id | None = None
    priority: Priority | None = None


class OfMessage(Fields, frozen=True, kw_only=True):
    """A queued message."""

    session: Id
    uuid: Id


class Interrupt(Fields, frozen=True, kw_only=True):
    """`queued`: also cancel the queued messages. `hold`: hold them until `send_held` or `cancel_queued`."""

    session: Id
    queued: bool = False
    hold: bool = False


class AnswerFields(Answer, frozen=True, kw_only=True):
    """The answer to a question, with the hash of what the client showed."""

    session: Id
    question: Id
    hash: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]


class PromptCommands:
    """Handlers of the conversation."""

    def __init__(self, sessions: Sessions, uploads: Uploads, audit: AuditCall) -> None:
        self._sessions, self._uploads, self._audit = sessions, uploads, audit

    @command("send", "prompt", keeps=True)
    async def send(self, call: Call, fields: Send) -> JsonObject:
        """Send a message. Once the receipt is returned, the message survives a crash of the server."""
        host = await self._sessions.get(fields.session)
        uuid = fields.uuid or call.message
        text = _with_files(fields.text, fields.files)
        images = await self._uploads.blocks(fields.images)
        if not (text or images):
            raise CommandRefused("empty", "the message is empty")
        content = [*images, *([{"type": "text", "text": text}] if text else [])] if images else text
        answer = {"uuid": uuid}
        await host.say(uuid, Prompt(content, fields.priority), call.by, call.receipt(answer))
        return answer

    @command("retry", "prompt", keeps=True)
    async def retry(self, call: Call, fields: OfSession) -> JsonObject:
        """Send the last message again, for example after its turn was interrupted or the CLI crashed."""
        host = await self._sessions.get(fields.session)
        if host.state() not in ("idle", "hibernated", "failed") or host.waiting:
            raise CommandRefused("busy", "a turn is running or a message is queued; wait, or interrupt it first")
        content = await _last_message(self._sessions.events, fields.session)
        if content is None:
            raise CommandRefused("empty", "no message was sent in this session, so there is nothing to retry")
        answer = {"uuid": call.message}
        await host.say(call.message, Prompt(content), call.by, call.receipt(answer))
        return answer

    @command("cancel_queued", "prompt")
    async def cancel_queued(self, call: Call, fields: OfMessage) -> JsonObject:
        """Cancel a queued message. The result says whether it was still possible."""
        host = await self._sessions.get(fields.session)
        return {"cancelled": await host.withdraw(fields.uuid, call.receipt({"cancelled": True}))}

    @command("cancel_prompt", "prompt")
    async def cancel_prompt(self, call: Call, fields: OfMessage) -> JsonObject:
        """Cancel a message wherever it is: in the queue, or in its turn, which is interrupted. Other turns go on."""
        host = await self._sessions.get(fields.session)
        withdrawn = await host.withdraw(fields.uuid, call.receipt({"withdrawn": True, "interrupted": False}))
        return {"withdrawn": withdrawn, "interrupted": not withdrawn and await host.interrupt_turn(fields.uuid)}

    @command("send_held", "prompt", keeps=True)
    async def send_held(self, call: Call, fields: OfMessage) -> JsonObject:
        """Send a message that was held when a turn was stopped."""
        host = await self._sessions.get(fields.session)
        answer = {"uuid": call.message}
        await host.send_held(fields.uuid, call.message, call.by, call.receipt(answer))
        return answer

    @command("interrupt", "prompt")
    async def interrupt(self, call: Call, fields: Interrupt) -> JsonObject:
        """Interrupt the running turn."""
        host = await self._sessions.get(fields.session)
        for uuid in host.waiting if fields.queued else ():
            await host.withdraw(uuid)
        if fields.hold and not fields.queued:
            await host.hold_queued()
        answer = await host.session.interrupt(cancel_queued=fields.queued)
        return {"still_queued": list(answer.still_queued)}

    @command("answer", "approve", keeps=True)
    async def answer(self, call: Call, fields: AnswerFields) -> JsonObject:
        """Answer a question. The first answer of any client is the one that counts."""
        host = await self._sessions.get(fields.session)
        answer = Answer(**{name: getattr(fields, name) for name in Answer.__struct_fields__})
        await host.answer(fields.question, fields.hash, answer, call.by, call.receipt())
        noted = {"question": fields.question, "behavior": fields.behavior, "edited": fields.input is not None}
        noted |= {"mode": fields.mode} if fields.mode else {}
        granted = [[one.index, one.destination] for one in fields.updates]
        await self._audit(call, "answer", session=fields.session, hash=fields.hash, granted=granted, **noted)
        return {}


def _with_files(text: str, files: list[str]) -> str:
    """The text with mentions of the files. Raises CommandRefused for a path outside the session's folder."""
    for path in files:
        if path.startswith(("/", "~")) or ".." in path.split("/"):
            raise CommandRefused("bad_file", f"{path} is not a path below the session's folder")
    mentioned = " ".join(f'@"{path}"' if " " in path else f"@{path}" for path in files)
    return f"{text}\n\n{mentioned}".strip() if files else text


async def _last_message(events: EventLog, session: str) -> str | list[JsonObject] | None:
    """The content of the newest message that was not cancelled, if any."""
    before, cancelled = (await events.bounds(session)).last + 1, set[str]()
    while before > 1 and (page := await events.read_back(session, before)):
        for one in reversed(page):
            if one.kind not in ("said", "withdrawn"):
                continue
            data: JsonObject = msgspec.json.decode(one.data)
            if one.kind == "withdrawn":
                cancelled.add(data["uuid"])
            elif data["uuid"] not in cancelled:
                return data["content"]
        before = page[0].seq
    return None
