"""Whose fault it is. In: nothing. Out: the root of all our errors, and the protocol's two.

HandrailError              everything Handrail raises on purpose
└── ProtocolError
    ├── LocalProtocolError     our side tried something that is not legal now
    └── RemoteProtocolError    the other side sent something that is not legal
"""

__all__ = ["HandrailError", "LocalProtocolError", "ProtocolError", "RemoteProtocolError"]


class HandrailError(Exception):
    """The root of every error that Handrail raises on purpose."""


class ProtocolError(HandrailError):
    """A rule of the protocol was broken."""


class LocalProtocolError(ProtocolError):
    """Our side tried something that is not legal now: a bug in the caller, nothing was sent."""


class RemoteProtocolError(ProtocolError):
    """The other side sent something that is not legal; what it sent is kept."""
