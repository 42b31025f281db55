"""What can go wrong with the session files on disk.

TranscriptError
├── InvalidSessionId    not a UUID, so it never became a path
├── SessionNotFound     no such session under the projects folder
├── AmbiguousSession    a prefix that more than one session has
├── EntryNotFound       the session has no entry with that uuid, or none at all
└── InvalidTitle        nothing is left of the title once it is cleaned
"""


class TranscriptError(Exception):
    """A session file cannot be found, read or changed; the text says which and why."""


class InvalidSessionId(TranscriptError):
    """The text is not a session id."""


class SessionNotFound(TranscriptError):
    """No session has this id."""


class AmbiguousSession(TranscriptError):
    """More than one session has this prefix."""


class EntryNotFound(TranscriptError):
    """The session has no such entry."""


class InvalidTitle(TranscriptError):
    """The title is empty."""
