"""Errors of reading and changing session files.

TranscriptError
├── InvalidSessionId    not a UUID
├── SessionNotFound     no such session under the projects folder
├── AmbiguousSession    a prefix of more than one session
├── EntryNotFound       no entry with that uuid, or an empty session
├── InvalidTag          a tag without visible characters
├── InvalidTitle        a title without visible characters
└── TranscriptUnusable  its file cannot be read or written
"""

from handrail.errors import CallerError, HandrailError, MachineError


class TranscriptError(HandrailError):
    """A session file cannot be found, read or changed; the message says which and why."""


class TranscriptUnusable(TranscriptError, MachineError):
    """The file cannot be opened, read, written or deleted."""


class InvalidSessionId(TranscriptError, CallerError):
    """The text is not a session id."""


class SessionNotFound(TranscriptError, CallerError):
    """No session has this id."""


class AmbiguousSession(TranscriptError, CallerError):
    """More than one session id starts with this prefix."""


class EntryNotFound(TranscriptError, CallerError):
    """The session does not contain this entry."""


class InvalidTag(TranscriptError, CallerError):
    """The tag is empty."""


class InvalidTitle(TranscriptError, CallerError):
    """The title is empty."""
