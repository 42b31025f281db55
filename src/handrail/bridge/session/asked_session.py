"""A session that asks. In: questions of a CLI, answers of clients. Out: one each, on record before it is given."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import msgspec

from handrail.bridge.session.events import event
from handrail.bridge.session.kept_session import KeptSession
from handrail.bridge.session.questions import Answer, Question, Questions, question_of, turned_away
from handrail.bridge.session.subagents import Subagents
from handrail.bridge.session.suggestions import offered
from handrail.bridge.store.events_base import NewEvent, Receipt
from handrail.bridge.store.index_base import SessionRecord
from handrail.client.callbacks import Allow, ElicitationRequest, PermissionRequest
from handrail.client.errors import HandrailError

__all__ = ["AskedSession"]


class AskedSession(KeptSession):
    """A session and its open questions."""

    def __init__(self, record: SessionRecord, **kept: Any) -> None:
        super().__init__(record, **kept)
        self.questions, self.subagents = Questions(), Subagents()

    async def _ask(self, asked: PermissionRequest | ElicitationRequest) -> Any:
        """The CLI asks for a human. Out: what the human said, whenever that is."""
        besides = await self._told_besides(asked)
        if self.questions.full:
            return turned_away(asked)
        question = question_of(str(uuid4()), asked)
        if (by := self.questions.remembered_by(asked)) is not None:
            return await self._allow_again(question, by, besides)
        reply = self.questions.put(question, asked)
        try:
            await self._tell_state(_asked_event(question, besides))
            return await reply
        except BaseException:  # withdrawn, or it could not be shown to anybody
            if self.questions.drop(question.id):
                self._work(self._tell_state(event("closed", question=question.id, why="withdrawn")))
            raise

    async def _allow_again(self, question: Question, by: str, besides: dict[str, Any]) -> Allow:
        """Answer an identical call as the device did that allowed it for the session."""
        answer = {"behavior": "allow", "remember": True}
        answered = event("answered", question=question.id, by=by, answer=answer, granted=())
        await self.record_events([_asked_event(question, besides), answered])
        return Allow()

    async def _told_besides(self, asked: PermissionRequest | ElicitationRequest) -> dict[str, Any]:
        """What a person should know of a question that its request does not say in words."""
        if not isinstance(asked, PermissionRequest):
            return {"suggestions": [], "agent": ""}
        return {"suggestions": offered(asked), "agent": await self.subagents.told(asked.agent_id)}

    async def answer(self, id: str, shown: str, answer: Answer, by: str, receipt: Receipt | None = None) -> None:
        """Answer a question. It is on record who did before the CLI hears of it."""
        entry, granted = self.questions.claim(id, shown, answer)
        told = msgspec.to_builtins(answer)
        answered = event("answered", question=id, by=by, answer=told, granted=granted.rules)
        events = [answered, *self._state_events()]
        try:
            await self.record_events(events, receipt)
        except HandrailError:
            self.questions.put_back(entry)
            self._state_events()
            raise
        if granted.remembered:
            self.questions.remember(granted.remembered, by)
        if granted.rules:
            self.change(rules=[*self.record.rules, *granted.rules])
        if not entry.reply.done():
            entry.reply.set_result(granted.reply)


def _asked_event(question: Question, besides: dict[str, Any]) -> NewEvent:
    shown = msgspec.Raw(question.request)
    fields = {"question": question.id, "kind": question.kind, "hash": question.hash, "request": shown}
    return event("asked", **fields, **besides)
