"""Handrail: both ends of the Claude CLI's stream-json and control protocol, and an SDK that drives it.

Every public name is here; its module is imported when it is first used, so that `import handrail` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_NAMES = {
    "client.session": ("Session",),
    "client.options": ("Options",),
    "client.turn": ("Turn", "TurnResult"),
    "client.query": ("query",),
    "client.callbacks": ("Allow", "Deny", "ElicitationAnswer", "ElicitationRequest", "PermissionRequest"),
}


def __getattr__(name: str) -> Any:
    for module, names in _NAMES.items():
        if name in names:
            return getattr(importlib.import_module(f"handrail.{module}"), name)
    raise AttributeError(f"module 'handrail' has no attribute {name!r}")
