"""Errors of reading and changing session files.

TranscriptError
├── InvalidSessionId    not a UUID
├── SessionNotFound     no such session under the projects folder
├── AmbiguousSession    a prefix of more than one session
├── EntryNotFound       no entry with that uuid, or an empty session
├── InvalidTag          a tag without visible characters
└── InvalidTitle        a title without visible characters
"""


class TranscriptError(Exception):
    """A session file cannot be found, read or changed; the message says which and why."""


class InvalidSessionId(TranscriptError):
    """The text is not a session id."""


class SessionNotFound(TranscriptError):
    """No session has this id."""


class AmbiguousSession(TranscriptError):
    """More than one session id starts with this prefix."""


class EntryNotFound(TranscriptError):
    """The session does not contain this entry."""


class InvalidTag(TranscriptError):
    """The tag is empty."""


class InvalidTitle(TranscriptError):
    """The title is empty."""
