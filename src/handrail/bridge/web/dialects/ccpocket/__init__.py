"""The WebSocket protocol of the ccpocket bridge, for clients written against it."""

from handrail.bridge.web.dialects.ccpocket.client import Client

__all__ = ["Client"]
