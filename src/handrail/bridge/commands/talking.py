"""Commands that say something: messages, interruptions, answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from uuid import NAMESPACE_OID, uuid5

from msgspec import Meta, json

from handrail.bridge.commands.fields import Id, OfSession, Text
from handrail.bridge.commands.table import Call, command
from handrail.bridge.delivery import Held, Priority
from handrail.bridge.errors import CommandRefused
from handrail.bridge.questions import Answer

if TYPE_CHECKING:
    from handrail.bridge.bridge import Bridge

__all__: list[str] = []

JsonObject = dict[str, Any]
FileName = Annotated[str, Meta(min_length=1, max_length=4096, pattern=r'^[^\x00-\x1f\x7f"]+$')]


class Send(OfSession, frozen=True, kw_only=True):
    """Something the user says. `images`: ids of uploads; `files`: paths below the session's folder.

    `priority`: "now" goes before all that waits, "later" after it. What a turn that runs makes of it is the CLI's: the
    real one ends the turn for "now", and begins with this message.
    """

    text: Text = ""
    images: Annotated[list[Id], Meta(max_length=20)] = []
    files: Annotated[list[FileName], Meta(max_length=50)] = []
    uuid: Id | None = None
    priority: Priority | None = None


@command("send", "prompt", keeps=True)
async def send(bridge: Bridge, call: Call, fields: Send) -> JsonObject:
    """Say it: from the receipt on it is not lost."""
    host = await bridge.sessions.get(fields.session)
    uuid = fields.uuid or str(uuid5(NAMESPACE_OID, f"handrail message {call.key}"))
    words = _with_files(fields.text, fields.files)
    pictures = await bridge.uploads.blocks(fields.images)
    if not (words or pictures):
        raise CommandRefused("empty", "there is nothing to send")
    content = [*pictures, *([{"type": "text", "text": words}] if words else [])] if pictures else words
    answer = {"uuid": uuid}
    await host.say(uuid, Held(content, fields.priority), call.by, call.receipt(answer))
    return answer


def _with_files(text: str, files: list[str]) -> str:
    """A text that mentions files. CommandRefused where one is not below the session's folder."""
    for path in files:
        if path.startswith(("/", "~")) or ".." in path.split("/"):
            raise CommandRefused("bad_file", f"{path} is not below the session's folder: name it from there")
    mentioned = " ".join(f'@"{path}"' if " " in path else f"@{path}" for path in files)
    return f"{text}\n\n{mentioned}".strip() if files else text


class OfMessage(OfSession, frozen=True, kw_only=True):
    """A message that waits."""

    uuid: Id


@command("cancel_queued", "prompt")
async def cancel_queued(bridge: Bridge, call: Call, fields: OfMessage) -> JsonObject:
    """Take it back."""
    host = await bridge.sessions.get(fields.session)
    return {"cancelled": await host.withdraw(fields.uuid, call.receipt({"cancelled": True}))}


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


@command("retry", "prompt", keeps=True)
async def retry(bridge: Bridge, call: Call, fields: OfSession) -> JsonObject:
    """Send the message of the interrupted turn again."""
    host = await bridge.sessions.get(fields.session)
    said = [one for one in await bridge.sessions.events.read(fields.session, 0, limit=10_000) if one.kind == "said"]
    if not said:
        raise CommandRefused("nothing_to_retry", "no turn of this session was interrupted")
    uuid = str(uuid5(NAMESPACE_OID, f"handrail message {call.key}"))
    answer = {"uuid": uuid}
    await host.say(uuid, Held(json.decode(said[-1].data)["content"], None), call.by, call.receipt(answer))
    return answer


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
    what |= {"mode": fields.mode} if fields.mode else {}
    granted = [[one.index, one.destination] for one in fields.updates]
    await bridge.audit(call, "answer", session=fields.session, hash=fields.hash, granted=granted, **what)
    return {}
