"""The first and the last line of every turn, as far as the session decides them. In: the engine. Out: their fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from handrail.agent.arguments import VERSION

if TYPE_CHECKING:
    from handrail.agent.engine import Engine

__all__ = ["init_fields", "result_fields"]

JsonObject = dict[str, Any]


def init_fields(engine: Engine) -> JsonObject:
    """How the session stands as a turn begins."""
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
    """What has been used as a turn ends: since the beginning, and in this turn."""
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
