"""All scenarios: importing a module registers its scenarios."""

from __future__ import annotations

from tests.interop.shim_scenarios import (
    conversations,
    failures,
    hooks,
    permissions,
    sessions,
    settings,
    tools,
)
from tests.interop.shim_scenarios.stage import SCENARIOS

__all__ = ["SCENARIOS", "conversations", "failures", "hooks", "permissions", "sessions", "settings", "tools"]
