"""Typed views of the wire, with one table per union.

Every public name of the modules can be imported from here; a module is imported when a name of it is first used, so
that `import handrail.schema` costs nothing.
"""

# ruff: noqa: F403 (the modules themselves say in __all__ what is public)

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from handrail.schema.activity_messages import *
    from handrail.schema.agent_answers import *
    from handrail.schema.agent_requests import *
    from handrail.schema.client_answers import *
    from handrail.schema.client_requests import *
    from handrail.schema.content import *
    from handrail.schema.control import *
    from handrail.schema.control_view import *
    from handrail.schema.file_results import *
    from handrail.schema.handshake import *
    from handrail.schema.hooks import *
    from handrail.schema.message_view import *
    from handrail.schema.messages import *
    from handrail.schema.permission_types import *
    from handrail.schema.questions import *
    from handrail.schema.result_message import *
    from handrail.schema.stream_events import *
    from handrail.schema.system_messages import *
    from handrail.schema.system_table import *
    from handrail.schema.tool_result_view import *
    from handrail.schema.tool_results import *
    from handrail.schema.usage import *
    from handrail.schema.view import *

# Names are looked up in this order; the modules that most programs use are first.
_MODULES = (
    "view",
    "usage",
    "content",
    "message_view",
    "stream_events",
    "result_message",
    "system_messages",
    "activity_messages",
    "system_table",
    "messages",
    "permission_types",
    "questions",
    "control_view",
    "agent_requests",
    "client_answers",
    "handshake",
    "client_requests",
    "agent_answers",
    "control",
    "hooks",
    "tool_result_view",
    "file_results",
    "tool_results",
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name == "__all__":
        return __dir__()
    for module in () if name.startswith("_") else _MODULES:
        found = importlib.import_module(f"{__name__}.{module}")
        if name in found.__all__:
            return getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    modules = (importlib.import_module(f"{__name__}.{module}") for module in _MODULES)
    return sorted(name for module in modules for name in module.__all__)
