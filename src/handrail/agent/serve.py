"""A session at the end of a transport. In: a transport, arguments, an environment. Out: the exit code of the session.

The transport may be the standard streams of a process, or one half of a pair in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.agent.arguments import Arguments
from handrail.agent.errors import Refused
from handrail.agent.events import new_id
from handrail.agent.models.base import Model
from handrail.agent.start import make_engine
from handrail.agent.usage import Ledger
from handrail.agent.wire import Wire
from handrail.transport.base import Transport

__all__ = ["serve"]

JsonObject = dict[str, Any]


async def serve(
    transport: Transport,
    arguments: Arguments,
    environment: Mapping[str, str],
    cwd: str,
    *,
    model: Model | None = None,
    signals: bool = False,
) -> int:
    """Serve a host. Raises Refused, where the session cannot begin. `signals`: those of the process end it."""
    wire = Wire(transport)
    try:
        engine = make_engine(arguments, environment, cwd, output=wire.output, host=wire, model=model)
    except Refused as error:
        if error.result:
            await wire.output.emit(_failed(arguments, error.message))
        raise
    return await wire.run(engine, signals=signals)


def _failed(arguments: Arguments, why: str) -> JsonObject:
    """A result for a session that could not begin."""
    ledger = Ledger()
    return {
        "type": "result",
        "subtype": "error_during_execution",
        "is_error": True,
        "duration_ms": 0,
        "duration_api_ms": 0,
        "num_turns": 0,
        "stop_reason": None,
        "session_id": arguments.resume or arguments.session_id or new_id(),
        "total_cost_usd": 0,
        "usage": ledger.usage(),
        "modelUsage": {},
        "permission_denials": [],
        "errors": [why],
        "uuid": new_id(),
    }
