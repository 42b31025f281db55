"""Transports carry bytes in both directions, without interpreting them."""

from handrail.transport.base import Ending, Transport, TransportClosed

__all__ = ["Ending", "Transport", "TransportClosed"]
