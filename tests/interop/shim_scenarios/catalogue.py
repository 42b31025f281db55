"""All scenarios, by the part they belong to. Each part runs in one process."""

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

__all__ = ["PARTS", "SCENARIOS"]

PARTS = {
    module.__name__.rpartition(".")[2]: [
        name for name, one in SCENARIOS.items() if one.body.__module__ == module.__name__
    ]
    for module in (conversations, permissions, hooks, tools, sessions, settings, failures)
}
