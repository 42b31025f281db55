"""Questions of the CLI to the person in the editor: permissions, plans, questions of the model and of MCP servers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, cast

from handrail.client.callbacks import Allow, Deny, ElicitationAnswer, ElicitationRequest, PermissionRequest
from handrail.schema.acp import messages as acp
from handrail.schema.questions import Question

__all__ = ["Ask", "Questions", "Selected"]

Selected = Callable[[PermissionRequest, list[acp.PermissionOption]], Awaitable["str | None"]]
"""Shows a call with options to choose from. Returns the id of the chosen one; None if the person cancelled."""
Ask = Callable[[dict[str, Any]], Awaitable[acp.CreateElicitationResponse]]
"""Sends an `elicitation/create` request and returns its answer."""

ALLOW: Final = acp.PermissionOption(option_id="allow", name="Allow", kind="allow_once")
ALWAYS: Final = acp.PermissionOption(option_id="allow_always", name="Always allow", kind="allow_always")
REJECT: Final = acp.PermissionOption(option_id="reject", name="Reject", kind="reject_once")
PLAN_OPTIONS: Final = (
    acp.PermissionOption(option_id="acceptEdits", name="Yes, and accept edits", kind="allow_always"),
    acp.PermissionOption(option_id="default", name="Yes, and ask before each edit", kind="allow_once"),
    acp.PermissionOption(option_id="plan", name="No, keep planning", kind="reject_once"),
)
CANCELLED: Final = "The user cancelled the question."


class Questions:
    """Asks the person in the editor. `ask` is None for an editor without forms."""

    def __init__(self, selected: Selected, ask: Ask | None) -> None:
        self._selected, self._ask = selected, ask

    async def permission(self, request: PermissionRequest) -> Allow | Deny:
        """Ask whether a tool may run; questions of the model come this way too."""
        if request.questions:
            return await self._of_model(request)
        options = [ALLOW, *([ALWAYS] if request.suggestions else []), REJECT]
        match await self._selected(request, options):
            case "allow":
                return Allow(classification="user_temporary")
            case "allow_always" if request.suggestions:
                return Allow(updates=request.suggestions, classification="user_permanent")
            case None:
                return Deny(CANCELLED, interrupt=True)
            case _:
                return Deny(classification="user_reject")

    async def plan(self, request: PermissionRequest) -> Allow | Deny:
        """Ask whether to start with a plan, and in which mode."""
        chosen = await self._selected(request, list(PLAN_OPTIONS))
        if chosen is None:
            return Deny(CANCELLED, interrupt=True)
        if chosen not in ("acceptEdits", "default"):
            return Deny("The user wants to keep planning.", classification="user_reject")
        return Allow(updates=[{"type": "setMode", "mode": chosen, "destination": "session"}])

    async def _of_model(self, request: PermissionRequest) -> Allow | Deny:
        """Ask the questions of the model: in a form, else one after another as options."""
        questions = request.questions
        answers = await (self._in_form(questions) if self._ask is not None else self._one_by_one(request, questions))
        if answers is None:
            return Deny("The user did not answer the questions.")
        return Allow(input={**request.input, "answers": answers})

    async def elicitation(self, request: ElicitationRequest) -> ElicitationAnswer:
        """Pass a question of an MCP server on. An editor without forms declines."""
        if self._ask is None:
            return ElicitationAnswer("decline")
        url = {"url": request.url, "elicitationId": request.elicitation_id}
        form = {"requestedSchema": request.requested_schema or {"type": "object", "properties": {}}}
        mode = "url" if request.mode == "url" else "form"
        answer = await self._ask({"mode": mode, "message": request.message, **(url if mode == "url" else form)})
        match answer.action:
            case "accept":
                return ElicitationAnswer("accept", answer.content or {})
            case "cancel":
                return ElicitationAnswer("cancel")
            case _:
                return ElicitationAnswer("decline")

    async def _in_form(self, questions: Sequence[Question]) -> dict[str, str] | None:
        assert self._ask is not None
        fields = {f"question_{at}": _field(question) for at, question in enumerate(questions)}
        schema = {"type": "object", "properties": fields}
        answer = await self._ask({"mode": "form", "message": "The agent has a question.", "requestedSchema": schema})
        if answer.action != "accept" or answer.content is None:
            return None
        chosen = {question.question: answer.content.get(name) for name, question in zip(fields, questions, strict=True)}
        return {text: _joined(value) for text, value in chosen.items() if value}

    async def _one_by_one(self, request: PermissionRequest, questions: Sequence[Question]) -> dict[str, str] | None:
        answers = dict[str, str]()
        for question in questions:
            options = [
                acp.PermissionOption(option_id=str(at), name=option.label, kind="allow_once")
                for at, option in enumerate(question.options)
            ]
            asked = PermissionRequest(
                tool_name=request.tool_name, input={"questions": [question]}, tool_use_id=request.tool_use_id
            )
            chosen = await self._selected(asked, [*options, REJECT])
            if chosen is None or not chosen.isdecimal() or int(chosen) >= len(options):
                return None
            answers[question.question] = question.options[int(chosen)].label
        return answers


def _field(question: Question) -> dict[str, Any]:
    choices = [{"const": option.label, "title": option.label} for option in question.options]
    if question.multi_select:
        return {"type": "array", "title": question.question, "items": {"anyOf": choices}}
    return {"type": "string", "title": question.question, "oneOf": choices}


def _joined(value: Any) -> str:
    return ", ".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else str(value)
