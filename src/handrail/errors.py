"""The root of all exceptions of Handrail, its four branches, and the errors of the protocol.

HandrailError
├── CallerError            the program or person that uses Handrail: an argument, an option, a file that they wrote
├── PeerError              the other end: a CLI, a model, an MCP server, a hook, a server across the network
├── MachineError           the machine: missing programs, files that cannot be read or written, the kernel
├── InternalError          a bug in Handrail
└── ProtocolError          a rule of the protocol was violated
    ├── LocalProtocolError     by our side: also a CallerError
    └── RemoteProtocolError    by the other side: also a PeerError

The branch answers "who has to change something". A layer defines its own errors below one of them, and keeps a built-in
base (ValueError, OSError …) where callers rely on it. This module imports nothing, because every start loads it.
"""

__all__ = [
    "CallerError",
    "HandrailError",
    "InternalError",
    "LocalProtocolError",
    "MachineError",
    "PeerError",
    "ProtocolError",
    "RemoteProtocolError",
]


class HandrailError(Exception):
    """Base class of all exceptions of Handrail."""


class CallerError(HandrailError):
    """The caller passed something invalid, or called at the wrong time. Change the call, the option or the file."""


class PeerError(HandrailError):
    """The other end failed, refused, exited or sent something invalid. Look at its output, or try again."""


class MachineError(HandrailError):
    """The machine lacks something: a program, a permission, a readable file, a system call."""


class InternalError(HandrailError):
    """A bug in Handrail. Please report it with its traceback."""


class ProtocolError(HandrailError):
    """A rule of the protocol was violated."""


class LocalProtocolError(ProtocolError, CallerError):
    """Our side tried something that is invalid in this state. A bug in the caller; nothing was sent."""


class RemoteProtocolError(ProtocolError, PeerError):
    """The other side sent something invalid."""
