"""Names of all subjects, streams and buckets on NATS. Pure.

The permissions of each role (setup/roles.py) are built from these names.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

__all__ = [
    "ACCESS",
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
"""Stream: events, one subject per session."""
RECEIPTS: Final = "handrail-receipts"
"""Stream: answers of commands, one subject per command."""
STREAMS: Final = {EVENTS: "handrail.events.*", RECEIPTS: "handrail.receipts.*"}

SESSIONS: Final = "handrail-sessions"
"""Bucket: session records by session id."""
OWNERS: Final = "handrail-owners"
"""Bucket: owners by session id."""
NODES: Final = "handrail-nodes"
"""Bucket: live machines by name; an entry expires with the lease of the machine."""
SETTINGS: Final = "handrail-settings"
"""Bucket: settings shared by all machines."""
ACCESS: Final = "handrail-access"
"""Bucket: devices, login links and push subscriptions, for gateways only."""
BUCKETS: Final = (SESSIONS, OWNERS, NODES, SETTINGS, ACCESS)

TRANSCRIPTS: Final = "handrail-transcripts"
"""Object store: CLI transcripts, with which another machine can resume a session."""
UPLOADS: Final = "handrail-uploads"
"""Object store: uploaded images, kept for a day."""

ALL_NODES: Final = "handrail.nodes"
"""Requests to all machines."""


_LONGEST: Final = 120
"""Longer names are hashed: NATS closes a connection that sends a longer protocol line than `max_control_line`."""


def token(name: str) -> str:
    """Escape a name into one token of a subject or key, so that no name acts as a wildcard or equals another name.

    Plain names stay as they are. The empty name (the log of the machine itself) becomes "_", because a
    token cannot be empty.
    """
    if name in ("", "_"):
        return "=5F" if name else "_"
    word = re.sub(rb"[^A-Za-z0-9_-]", lambda match: b"=%02X" % match[0][0], _bytes(name)).decode()
    return word if len(word) <= _LONGEST else f"=={_digest(name)}"


def session_of(subject: str) -> str:
    """The unescaped last token of a subject or key; hashed names cannot be recovered."""
    word = subject.rpartition(".")[2]
    plain = re.sub(rb"=([0-9A-F]{2})", lambda match: bytes.fromhex(match[1].decode()), word.encode())
    return "" if word == "_" else plain.decode(errors="replace")


def bucket_stream(bucket: str) -> str:
    """The stream behind a bucket."""
    return f"KV_{bucket}"


def bucket_subject(bucket: str, name: str) -> str:
    """Subject of the entry of a session or machine in a bucket."""
    return f"$KV.{bucket}.{token(name)}"


def events_subject(session: str) -> str:
    """Subject of the events of a session."""
    return f"handrail.events.{token(session)}"


def receipt_subject(command: str) -> str:
    """Subject of the receipt of a command. Clients choose command ids freely, so the id is hashed."""
    return f"handrail.receipts.{_digest(command)}"


def live_subject(session: str) -> str:
    """Subject of the live updates sent to the followers of a session."""
    return f"handrail.live.{token(session)}"


def do_subject(session: str) -> str:
    """Subject of commands to the owner of a session. No machine subscribes to it while the session lacks an owner."""
    return f"handrail.do.{token(session)}"


def follow_subject(session: str) -> str:
    """Subject of requests to the owner of a session to send live updates."""
    return f"handrail.follow.{token(session)}"


def node_subject(name: str) -> str:
    """Subject of requests to one machine."""
    return f"handrail.node.{token(name)}"


def is_request(subject: str) -> bool:
    """Whether a message was sent as a request.

    A client could make JetStream deliver a stored message to a request subscriber; such a message keeps the subject
    under which it was stored, which this check rejects.
    """
    return subject == ALL_NODES or subject.startswith(("handrail.do.", "handrail.node."))


def inbox_prefix(role: str) -> str:
    """Prefix of the reply subjects of a role; its machines may not subscribe to those of other roles."""
    return f"_INBOX.{role}"


def proof_subject(bucket: str, name: str) -> str:
    """Subject in the stream of a bucket to which a machine writes on condition that another entry is unchanged.

    A write that succeeds proves the revision of that entry to a majority of the servers.
    """
    return f"$KV.{bucket}.proof.{token(name)}"


def _bytes(name: str) -> bytes:
    return name.encode(errors="surrogatepass")


def _digest(name: str) -> str:
    return hashlib.sha256(_bytes(name)).hexdigest()[:32]
