"""The base of all errors, and the errors of the protocol.

HandrailError              base class of all exceptions of Handrail
└── ProtocolError
    ├── LocalProtocolError     our side tried something invalid
    └── RemoteProtocolError    the other side sent something invalid
"""

__all__ = ["HandrailError", "LocalProtocolError", "ProtocolError", "RemoteProtocolError"]


class HandrailError(Exception):
    """Base class of all exceptions of Handrail."""


class ProtocolError(HandrailError):
    """A rule of the protocol was violated."""


class LocalProtocolError(ProtocolError):
    """Our side tried something that is invalid in this state. A bug in the caller; nothing was sent."""


class RemoteProtocolError(ProtocolError):
    """The other side sent something invalid."""
