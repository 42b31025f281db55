"""Base classes of messages, and the unknown message."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from handrail.schema.view import Part, View

__all__ = ["MessageView", "Origin", "UnknownMessage"]


class MessageView(View):
    """One line of the conversation."""

    type: str = ""
    uuid: str = ""
    session_id: str = ""


class UnknownMessage(MessageView):
    """A message without a row in the table, or one that does not fit its row: then `problem` says why."""

    opaque: ClassVar[bool] = True
    subtype: str = ""
    problem: str = ""


class Origin(Part, rename="camel"):
    """The sender of a message or the cause of a turn: a human, a channel, another session, a task that ended."""

    kind: str = ""
    subkind: str = ""
    server: str = ""
    name: str = ""
    from_: str = msgspec.field(default="", name="from")
    from_mode: str = ""
    from_session: str = ""
    sender_task_id: str = ""
    fire_reason: str = ""
    run_id: str = ""
    producer: str = ""
    verified_peer_pid: Any = None
    body: str = ""
