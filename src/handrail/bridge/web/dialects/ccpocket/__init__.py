"""The WebSocket protocol of the ccpocket bridge, for clients written against it."""

from handrail.bridge.web.dialects.ccpocket.client import Client
from handrail.bridge.web.dialects.ccpocket.parts import CcpocketParts

__all__ = ["CcpocketParts", "Client"]
