"""The control requests that the agent answers, also in the middle of a turn.

One table maps each subtype to its handler, which returns the payload of the answer or raises Refusal. The connection
refuses every other subtype.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, cast

from handrail.agent.arguments import VERSION
from handrail.agent.extensions import reload
from handrail.agent.live_settings import applied, apply_flag_settings, set_thinking
from handrail.agent.mcp_controls import MCP_HANDLERS
from handrail.agent.models.prices import MODELS, facts_of
from handrail.agent.slash_commands.command import described
from handrail.agent.slash_commands.figures import context_parts, cost_text
from handrail.agent.warm import warm
from handrail.connection.router import Handler, Refusal, Reply
from handrail.permissions.modes import MODES
from handrail.protocol import Request
from handrail.transcripts.entry import decode

if TYPE_CHECKING:
    from handrail.agent.engine import Engine

__all__ = ["handlers", "rename"]

JsonObject = dict[str, Any]
Answering = Callable[["Engine", JsonObject], Awaitable[JsonObject | Reply | None]]
_INVALID: Final = "invalid_request"
MOST_FILES: Final = 50


def handlers(engine: Engine) -> dict[str, Handler]:
    """The handlers of one engine by subtype."""
    return {subtype: _serve(engine, answer) for subtype, answer in _TABLE.items()}


def _serve(engine: Engine, answer: Answering) -> Handler:
    async def serve(request: Request) -> JsonObject | Reply | None:
        try:
            fields = decode(request.body, dict[str, Any])[0]
        except ValueError:
            raise Refusal(f"{request.subtype}: its fields cannot be read", _INVALID) from None
        return await answer(engine, fields)

    return serve


async def _initialize(engine: Engine, fields: JsonObject) -> Reply:
    try:
        engine.initialize(fields)
    except ValueError as error:
        raise Refusal(str(error)) from None
    engine.later(warm(engine))
    pending = {
        "pending_permission_requests": engine.host.unanswered("can_use_tool"),
        "pending_user_dialog_requests": engine.host.unanswered("request_user_dialog"),
    }
    return Reply(_standing(engine), pending)


def _standing(engine: Engine) -> JsonObject:
    session = engine.session
    return {
        "commands": engine.commands.listed(),
        "agents": engine.agents.listed(),
        "output_style": engine.extensions.output_style,
        "available_output_styles": engine.extensions.styles.names(),
        "user_output_styles_dir": os.path.join(session.config_home, "output-styles"),
        "models": _models(),
        "account": {"tokenSource": "none", "apiKeySource": session.key_source, "apiProvider": "firstParty"},
        "pid": os.getpid(),
        "claude_code_version": VERSION,
        "current_permission_mode": session.mode,
        "hook_on_failure_supported": False,
        "fast_mode_state": "off",
        "session_state": "running" if engine.turn else "idle",
        "capabilities": [],
    }


def _models() -> list[JsonObject]:
    return [
        {
            "value": known.id,
            "resolvedModel": known.id,
            "displayName": known.name,
            "description": f"${known.input:g}/${known.output:g} per Mtok",
            "supportsEffort": bool(known.efforts),
            "supportedEffortLevels": list(known.efforts),
            "supportsAdaptiveThinking": known.adaptive_thinking,
        }
        for known in MODELS
    ]


async def _interrupt(engine: Engine, fields: JsonObject) -> JsonObject:
    answer: JsonObject = {}
    if fields.get("cancel_queued") is True:
        answer["cancelled"] = engine.queue.clear()
        for uuid in answer["cancelled"]:
            await engine.tell_lifecycle(uuid, "cancelled")
    answer["still_queued"] = engine.queue.uuids()
    engine.interrupt_soon()
    return answer


async def _set_model(engine: Engine, fields: JsonObject) -> JsonObject:
    model = fields.get("model")
    if model is not None and not isinstance(model, str):
        raise Refusal("set_model: model must be a string", _INVALID)
    engine.session.chosen_model = "" if model in (None, "default") else model
    await _say_model(engine)
    return {"model": engine.session.model}


async def _say_model(engine: Engine) -> None:
    """Report the model in the conversation, once there is one."""
    if engine.history.messages:
        text = f"<local-command-stdout>Set model to {engine.session.model}</local-command-stdout>"
        await engine.speaker.user(text, isReplay=True)


async def _set_mode(engine: Engine, fields: JsonObject) -> JsonObject:
    mode, session = fields.get("mode"), engine.session
    if not isinstance(mode, str) or mode not in MODES or mode == "delegate":
        raise Refusal(f"Invalid permission mode: {mode!s:.60}", "invalid_mode")
    if mode == "bypassPermissions" and not session.circumstances.bypass_available:
        raise Refusal(
            "Cannot set permission mode to bypassPermissions because the session was not launched with"
            " --dangerously-skip-permissions",
            "bypass_not_launched",
        )
    session.set_mode(mode)
    await engine.speaker.system("status", status=None, permissionMode=session.mode)
    return {"mode": session.mode}


async def _set_thinking(engine: Engine, fields: JsonObject) -> None:
    set_thinking(engine, fields)


async def _nothing(engine: Engine, fields: JsonObject) -> None:
    return None


async def _rewind(engine: Engine, fields: JsonObject) -> JsonObject:
    try:
        return engine.checkpoints.rewind(str(fields.get("user_message_id")), dry_run=fields.get("dry_run") is True)
    except (ValueError, OSError) as error:
        raise Refusal(str(error)) from None


async def _context_usage(engine: Engine, fields: JsonObject) -> JsonObject:
    model, parts = engine.session.model, await context_parts(engine)
    window = facts_of(model).context_window
    used = sum(parts.values()) - parts["Free space"] - parts["Autocompact buffer"]
    return {
        "categories": [
            {"name": name, "tokens": tokens, "color": "gray" if name == "Free space" else "blue"}
            for name, tokens in parts.items()
        ],
        "totalTokens": used,
        "maxTokens": window,
        "percentage": round(100 * used / window),
        "model": model,
    }


async def _session_cost(engine: Engine, fields: JsonObject) -> JsonObject:
    return {"text": cost_text(engine)}


async def _settings(engine: Engine, fields: JsonObject) -> JsonObject:
    session = engine.session
    sources = [
        {"source": file.place.scope, "settings": dict(file.values)} for file in session.loaded.files if file.values
    ]
    return {
        "effective": dict(session.settings.values),
        "sources": sources,
        "applied": applied(engine),
    }


async def _apply_settings(engine: Engine, fields: JsonObject) -> None:
    settings = fields.get("settings")
    if not isinstance(settings, dict):
        raise Refusal("apply_flag_settings: settings must be an object", _INVALID)
    given = cast("JsonObject", settings)
    apply_flag_settings(engine, given)
    if "model" in given:
        await _say_model(engine)


async def _update_settings(engine: Engine, fields: JsonObject) -> None:
    raise Refusal(
        "update_settings: handrail-agent does not write settings files; edit the file, or use apply_flag_settings to"
        " change this session",
        _INVALID,
    )


async def _binary_version(engine: Engine, fields: JsonObject) -> JsonObject:
    return {"version": VERSION, "buildTime": None}


async def _list_models(engine: Engine, fields: JsonObject) -> JsonObject:
    return {"models": _models()}


async def _permission_rules(engine: Engine, fields: JsonObject) -> JsonObject:
    rules = engine.session.circumstances.rules
    return {"state": [{"rule": str(rule.rule), "behavior": rule.behavior, "source": rule.scope} for rule in rules]}


async def _read_file(engine: Engine, fields: JsonObject) -> JsonObject:
    from handrail.files.errors import FileError
    from handrail.files.open import read_resolved

    resolved = engine.desk.resolve(str(fields.get("path")))
    try:
        data = read_resolved(resolved)
    except FileError as error:
        raise Refusal(str(error)) from None
    text = data.decode("utf-8", "replace")
    return {"contents": text, "absPath": resolved.lexical, "lossy": text.encode() != data}


async def _file_suggestions(engine: Engine, fields: JsonObject) -> JsonObject:
    found = _find_files(engine.session.cwd, str(fields.get("query") or "").lower())
    suggestions = [{"path": path, "displayText": path} for path in found]
    return {"suggestions": suggestions, "cwd": engine.session.cwd}


def _find_files(folder: str, query: str) -> list[str]:
    found: list[str] = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        relative = os.path.relpath(place, folder)
        for name in sorted([*names, *(f"{folder}/" for folder in folders)]):
            path = name if relative == "." else os.path.join(relative, name)
            if query in path.lower():
                found.append(path)
        if len(found) >= MOST_FILES:
            break
    return found[:MOST_FILES]


async def _cancel_message(engine: Engine, fields: JsonObject) -> JsonObject:
    uuid = str(fields.get("message_uuid") or fields.get("uuid") or "")
    cancelled = engine.queue.cancel(uuid)
    if cancelled:
        await engine.tell_lifecycle(uuid, "cancelled")
    return {"cancelled": cancelled}


async def _reload_skills(engine: Engine, fields: JsonObject) -> JsonObject:
    reload(engine)
    return {"skills": [described(skill) for skill in engine.commands.skills()]}


async def _reload_plugins(engine: Engine, fields: JsonObject) -> JsonObject:
    reload(engine)
    return {
        "commands": engine.commands.listed(),
        "agents": engine.agents.listed(),
        "plugins": engine.extensions.lines(),
        "mcpServers": engine.hub.status(),
        "error_count": len(engine.extensions.problems),
    }


async def _reload_styles(engine: Engine, fields: JsonObject) -> JsonObject:
    reload(engine)
    return {"available_output_styles": engine.extensions.styles.names()}


async def _side_question(engine: Engine, fields: JsonObject) -> JsonObject:
    await engine.speaker.system("control_request_progress", request_subtype="side_question")
    return {"response": await engine.asides.ask_about_it(str(fields.get("question") or "")), "synthetic": False}


async def _generate_title(engine: Engine, fields: JsonObject) -> JsonObject:
    asked = f"Give this work a title of at most six words. Answer with the title alone.\n\n{fields.get('description')}"
    return {"title": (await engine.asides.ask(asked)).strip()}


async def _rename(engine: Engine, fields: JsonObject) -> None:
    title = str(fields.get("title") or "").strip()
    if not title:
        raise Refusal("rename_session: title must be a text", _INVALID)
    await rename(engine, title, source=str(fields.get("source") or "host"))


async def rename(engine: Engine, title: str, *, source: str) -> None:
    """Write the title to the transcript and report it to the host."""
    engine.session.title = title
    engine.transcript.name(title)
    await engine.speaker.system("session_title_changed", title=title, source=source)


async def _stop_task(engine: Engine, fields: JsonObject) -> JsonObject:
    await engine.tasks.stop(str(fields.get("task_id")))
    return {}


async def _background_tasks(engine: Engine, fields: JsonObject) -> JsonObject:
    return {"tasks": [task.line() for task in engine.tasks.running]}


async def _hooks_listing(engine: Engine, fields: JsonObject) -> JsonObject:
    hooks = engine.session.settings.hooks
    return {"hooks": [{"event": hook.event, "matcher": hook.matcher, "source": hook.scope} for hook in hooks]}


async def _usage(engine: Engine, fields: JsonObject) -> JsonObject:
    return {"total_cost_usd": engine.ledger.total_cost, "modelUsage": engine.ledger.models()}


async def _end_session(engine: Engine, fields: JsonObject) -> None:
    engine.end_soon()


_TABLE: Final[dict[str, Answering]] = {
    "initialize": _initialize,
    "interrupt": _interrupt,
    "set_model": _set_model,
    "set_permission_mode": _set_mode,
    "set_max_thinking_tokens": _set_thinking,
    **MCP_HANDLERS,
    "rewind_files": _rewind,
    "get_context_usage": _context_usage,
    "get_session_cost": _session_cost,
    "get_settings": _settings,
    "apply_flag_settings": _apply_settings,
    "update_settings": _update_settings,
    "get_binary_version": _binary_version,
    "list_models": _list_models,
    "list_permission_rules": _permission_rules,
    "read_file": _read_file,
    "file_suggestions": _file_suggestions,
    "cancel_async_message": _cancel_message,
    "reload_skills": _reload_skills,
    "reload_plugins": _reload_plugins,
    "reload_output_styles": _reload_styles,
    "side_question": _side_question,
    "generate_session_title": _generate_title,
    "rename_session": _rename,
    "stop_task": _stop_task,
    "background_tasks": _background_tasks,
    "get_hooks_listing": _hooks_listing,
    "get_usage": _usage,
    "seed_read_state": _nothing,
    "set_has_subscribers": _nothing,
    "end_session": _end_session,
}
