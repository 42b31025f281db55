"""What everything is called on NATS. In: a session, a machine. Out: subjects, streams, buckets. Pure.

Whoever wants to know who may say what to whom reads this file: the permissions of each role are made from it.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

__all__ = [
    "ALL_NODES",
    "BUCKETS",
    "EVENTS",
    "NODES",
    "OWNERS",
    "RECEIPTS",
    "SESSIONS",
    "SETTINGS",
    "STREAMS",
    "TRANSCRIPTS",
    "UPLOADS",
    "bucket_stream",
    "bucket_subject",
    "do_subject",
    "events_subject",
    "follow_subject",
    "inbox_prefix",
    "is_request",
    "live_subject",
    "node_subject",
    "proof_subject",
    "receipt_subject",
    "session_of",
    "token",
]

EVENTS: Final = "handrail-events"
"""A stream: the events of every session, a subject each."""
RECEIPTS: Final = "handrail-receipts"
"""A stream: what commands were answered, a subject each."""
STREAMS: Final = {EVENTS: "handrail.events.*", RECEIPTS: "handrail.receipts.*"}

SESSIONS: Final = "handrail-sessions"
"""A bucket: the record of each session, by its id."""
OWNERS: Final = "handrail-owners"
"""A bucket: who runs each session, by its id."""
NODES: Final = "handrail-nodes"
"""A bucket: every machine that is there, by its name; an entry lives as long as the machine's lease."""
SETTINGS: Final = "handrail-settings"
"""A bucket: what holds for all machines."""
BUCKETS: Final = (SESSIONS, OWNERS, NODES, SETTINGS)

TRANSCRIPTS: Final = "handrail-transcripts"
"""An object store: what a CLI wrote of a session, so that another machine can go on with it."""
UPLOADS: Final = "handrail-uploads"
"""An object store: pictures, for a day."""

ALL_NODES: Final = "handrail.nodes"
"""A question to all machines."""


_LONGEST: Final = 120
"""Longer names do not exist; the servers hang up on whoever says a line that is too long."""


def token(name: str) -> str:
    """A name as one word of a subject or a key, whatever signs it has: none of them may mean all sessions, or another.

    A plain name is itself. There is a session without a name; a subject must have one.
    """
    if name in ("", "_"):
        return "=5F" if name else "_"
    word = re.sub(rb"[^A-Za-z0-9_-]", lambda sign: b"=%02X" % sign[0][0], _bytes(name)).decode()
    return word if len(word) <= _LONGEST else f"=={_digest(name)}"


def session_of(subject: str) -> str:
    """Whose subject, or key, it is: the last word of it, as it was."""
    word = subject.rpartition(".")[2]
    plain = re.sub(rb"=([0-9A-F]{2})", lambda sign: bytes.fromhex(sign[1].decode()), word.encode())
    return "" if word == "_" else plain.decode(errors="replace")


def bucket_stream(bucket: str) -> str:
    """The stream in which a bucket lies."""
    return f"KV_{bucket}"


def bucket_subject(bucket: str, name: str) -> str:
    """Where the value of a session, or of a machine, stands in a bucket."""
    return f"$KV.{bucket}.{token(name)}"


def events_subject(session: str) -> str:
    """Where the events of a session are kept."""
    return f"handrail.events.{token(session)}"


def receipt_subject(command: str) -> str:
    """Where the receipt of a command is kept; what a client named it may be anything."""
    return f"handrail.receipts.{_digest(command)}"


def live_subject(session: str) -> str:
    """What the followers of a session are told, as it happens."""
    return f"handrail.live.{token(session)}"


def do_subject(session: str) -> str:
    """Commands for whoever runs a session. Nobody listens where nobody does."""
    return f"handrail.do.{token(session)}"


def follow_subject(session: str) -> str:
    """Asks whoever runs a session to tell what happens in it."""
    return f"handrail.follow.{token(session)}"


def node_subject(name: str) -> str:
    """Requests to one machine."""
    return f"handrail.node.{token(name)}"


def is_request(subject: str) -> bool:
    """Was it said as a request? What JetStream is made to deliver as one keeps the subject that it was kept under."""
    return subject == ALL_NODES or subject.startswith(("handrail.do.", "handrail.node."))


def inbox_prefix(role: str) -> str:
    """Below this are the answers that machines of a role wait for: those of others are not theirs to read."""
    return f"_INBOX.{role}"


def proof_subject(bucket: str, name: str) -> str:
    """Beside the entries of a bucket: what a machine writes there counts only if one of them is as it believes."""
    return f"$KV.{bucket}.proof.{token(name)}"


def _bytes(name: str) -> bytes:
    return name.encode(errors="surrogatepass")


def _digest(name: str) -> str:
    return hashlib.sha256(_bytes(name)).hexdigest()[:32]
