"""Commands that say something: messages, interruptions, answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from uuid import NAMESPACE_OID, uuid5

from msgspec import Meta

from handrail.bridge.commands.fields import Id, OfSession, Path
from handrail.bridge.commands.table import Call, command
from handrail.bridge.errors import CommandRefused
from handrail.bridge.questions import Answer

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge

__all__: list[str] = []

JsonObject = dict[str, Any]


class Send(OfSession, frozen=True, kw_only=True):
    """Something the user says. `images`: ids of uploads; `files`: paths below the session's folder."""

    text: Annotated[str, Meta(max_length=1_000_000)] = ""
    images: Annotated[list[Id], Meta(max_length=20)] = []
    files: Annotated[list[Path], Meta(max_length=50)] = []
    uuid: Id | None = None


@command("send", "prompt", keeps=True)
async def send(bridge: Bridge, call: Call, fields: Send) -> JsonObject:
    """Say it: from the receipt on it is not lost."""
    host = await bridge.sessions.get(fields.session)
    uuid = fields.uuid or str(uuid5(NAMESPACE_OID, f"handrail message {call.key}"))
    await bridge.uploads.load(fields.images)
    content = bridge.content(fields.text, fields.images, fields.files)
    if not content:
        raise CommandRefused("empty", "there is nothing to send")
    answer = {"uuid": uuid}
    await host.say(uuid, content, call.by, call.receipt(answer))
    return answer


class OfMessage(OfSession, frozen=True, kw_only=True):
    """A message that waits."""

    uuid: Id


@command("cancel_queued", "prompt")
async def cancel_queued(bridge: Bridge, call: Call, fields: OfMessage) -> JsonObject:
    """Take it back."""
    return {"cancelled": await (await bridge.sessions.get(fields.session)).withdraw(fields.uuid)}


class Interrupt(OfSession, frozen=True, kw_only=True):
    """The turn that runs; with `queued` also what waits."""

    queued: bool = False


@command("interrupt", "prompt")
async def interrupt(bridge: Bridge, call: Call, fields: Interrupt) -> JsonObject:
    """End the turn."""
    host = await bridge.sessions.get(fields.session)
    for uuid in host.waiting if fields.queued else ():
        await host.withdraw(uuid)
    answer = await host.session.interrupt(cancel_queued=fields.queued)
    return {"still_queued": list(answer.still_queued)}


class AnswerFields(Answer, frozen=True, kw_only=True):
    """An answer to a question, with the hash of what was shown."""

    session: Id
    question: Id
    hash: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]


@command("answer", "approve", keeps=True)
async def answer(bridge: Bridge, call: Call, fields: AnswerFields) -> JsonObject:
    """Answer a question, first of all."""
    host = await bridge.sessions.get(fields.session)
    said = Answer(**{name: getattr(fields, name) for name in Answer.__struct_fields__})
    await host.answer(fields.question, fields.hash, said, call.by, call.receipt())
    what = {"question": fields.question, "behavior": fields.behavior, "edited": fields.input is not None}
    granted = [[one.index, one.destination] for one in fields.updates]
    bridge.audit(call, "answer", session=fields.session, hash=fields.hash, granted=granted, **what)
    return {}
