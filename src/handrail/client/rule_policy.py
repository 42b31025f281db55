"""A ready `can_use_tool`: rules decide. In: rules, and whom to ask where they do not decide. Out: Allow or Deny.

    options = Options(can_use_tool=RulePolicy(allow=["Read(./**)", "Bash(git status)"], deny=["Bash(rm:*)"]))

The same engine as `handrail permissions explain`. What the rules leave open goes to `otherwise`, another function for
`can_use_tool`; without one it is denied, and the model is told why.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from handrail.client.callbacks import Allow, Deny, PermissionRequest, call
from handrail.permissions.modes import MODES
from handrail.permissions.rules import Behavior, SourcedRule, read_rules

if TYPE_CHECKING:
    from handrail.permissions.decide import Decision

__all__ = ["RulePolicy"]

_NOBODY: Final = "No rule allows this, and nobody can be asked"


class RulePolicy:
    """Decides every question of a session by rules. `mode`, `cwd` and `additional_directories` are the session's own.

    Paths in commands are judged from `cwd`: a session with `Options(cwd=…)` needs the same one here. Without it, it is
    the folder of this process.
    """

    def __init__(
        self,
        *,
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
        ask: Sequence[str] = (),
        mode: str = "default",
        cwd: str | os.PathLike[str] | None = None,
        additional_directories: Sequence[str] = (),
        otherwise: Callable[..., Any] | None = None,
    ) -> None:
        if mode not in MODES:
            raise ValueError(f"RulePolicy(mode=…) must be one of {', '.join(sorted(MODES))}, not {mode!r}")
        if isinstance(additional_directories, str):
            raise ValueError(
                f"RulePolicy(additional_directories=…) must be a list, such as [{additional_directories!r}]"
            )
        self.rules = (*_read(deny, "deny"), *_read(ask, "ask"), *_read(allow, "allow"))
        self.mode = mode
        self.cwd = os.path.abspath(cwd or os.getcwd())
        self.additional_directories = tuple(additional_directories)
        self._otherwise = otherwise

    def decide(self, tool: str, input: Mapping[str, Any]) -> Decision:
        """What the rules make of one use of a tool, with every reason."""
        from handrail.files.resolve import Disk, anchors_of
        from handrail.permissions.decide import Circumstances, decide

        anchors = anchors_of(self.cwd, additional=self.additional_directories)
        circumstances = Circumstances(
            anchors=anchors,
            mode=self.mode,
            rules=self.rules,
            bypass_available=self.mode == "bypassPermissions",
        )
        return decide(tool, input, circumstances, Disk(anchors))

    async def __call__(self, request: PermissionRequest) -> Any:
        """Answer one question of the CLI."""
        decision = self.decide(request.tool_name, request.input)
        if decision.behavior == "allow":
            return Allow()
        if decision.behavior == "deny":
            return Deny(f"Denied: {decision.reason}.")
        if self._otherwise is None:
            return Deny(f"{_NOBODY}: {decision.reason}.")
        return await call(self._otherwise, request)


def _read(texts: Sequence[str], behavior: Behavior) -> list[SourcedRule]:
    if isinstance(texts, str):
        raise ValueError(f"RulePolicy({behavior}=…) must be a list of rules, such as [{texts!r}]")
    for text in cast("Sequence[object]", texts):
        if not isinstance(text, str):
            raise ValueError(f"RulePolicy({behavior}=…) must be a list of texts, and {text!r} is none")
    rules = read_rules(texts, behavior, "session")
    for rule in rules:
        if rule.broken:
            raise ValueError(f"RulePolicy({behavior}=…): {rule.broken}")
    return rules
