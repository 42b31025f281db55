"""BYTES: the ways they travel. In: bytes. Out: bytes. Nothing here knows what they mean."""

from handrail.transport.base import Ending, Transport, TransportClosed

__all__ = ["Ending", "Transport", "TransportClosed"]
