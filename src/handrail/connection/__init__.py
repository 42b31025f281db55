"""Runs the protocol on a transport: delivers messages, awaits answers and serves requests."""

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
