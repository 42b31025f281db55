"""The fields of `system/init` and `result` that depend on the session, and the record of its costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from handrail.agent.arguments import VERSION

if TYPE_CHECKING:
    from handrail.agent.engine import Engine

__all__ = ["cost_state", "init_fields", "result_fields"]

JsonObject = dict[str, Any]


def init_fields(engine: Engine) -> JsonObject:
    """The state of the session at the start of a turn."""
    session, commands, extensions = engine.session, engine.commands, engine.extensions
    problems = {"mcp_server_errors": engine.hub.errors(), "plugin_errors": extensions.errors()}
    return {
        "cwd": session.cwd,
        "tools": engine.toolbox.names(),
        "mcp_servers": engine.hub.servers(),
        "model": session.model,
        "permissionMode": session.mode,
        "slash_commands": commands.names(),
        "terminal_slash_commands": [],
        "apiKeySource": session.key_source,
        "claude_code_version": VERSION,
        "output_style": extensions.output_style,
        "agents": engine.agents.names(),
        "skills": commands.skill_names(),
        "plugins": extensions.lines(),
        "capabilities": ["interrupt_receipt_v1", "interrupt_cancel_queued_v1"],
        "memory_paths": {},
        "original_cwd": session.cwd,
        "additional_directories": list(session.folders),
        "fast_mode_state": "off",
        **{name: told for name, told in problems.items() if told},
    }


def result_fields(engine: Engine) -> JsonObject:
    """The usage at the end of a turn: of the session, and of the turn."""
    ledger = engine.ledger
    return {
        "duration_api_ms": round(ledger.api_ms),
        "total_cost_usd": ledger.total_cost,
        "usage": ledger.usage(),
        "modelUsage": ledger.models(),
        "model_usage_since_last_result": ledger.since_last_result(),
        "fast_mode_state": "off",
        "queued_turn_count": len(engine.queue),
        "result_index": engine.results,
    }


def cost_state(engine: Engine) -> JsonObject:
    """The transcript entry from which a resumed session continues its costs."""
    return {
        "type": "cost-state",
        "sessionId": engine.session.id,
        "totalCostUSD": engine.ledger.total_cost,
        "modelUsage": engine.ledger.models(),
    }
