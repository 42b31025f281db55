"""Bytes meet rules: the only place that sees both. In: a transport. Out: messages, answers, and requests to serve."""

from handrail.connection.connection import Connection
from handrail.connection.errors import ControlError, ControlRefused, ControlTimeout, Disconnected, NotSupported
from handrail.connection.router import Handler, Router

__all__ = [
    "Connection",
    "ControlError",
    "ControlRefused",
    "ControlTimeout",
    "Disconnected",
    "Handler",
    "NotSupported",
    "Router",
]
