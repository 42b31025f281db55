"""A `can_use_tool` callback that decides by rules.

    options = Options(can_use_tool=RulePolicy(allow=["Read(./**)", "Bash(git status)"], deny=["Bash(rm:*)"]))

It uses the same engine as `handrail permissions explain`. Requests that the rules do not decide are passed to
`otherwise`, another `can_use_tool` function; without one they are denied with a reason.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from handrail.client.callbacks import Allow, Deny, PermissionRequest, call
from handrail.permissions.modes import MODES
from handrail.permissions.rules.rule import Behavior, SourcedRule, read_rules

if TYPE_CHECKING:
    from handrail.permissions.decide import Decision
    from handrail.settings.nested_git import NestedGit

__all__ = ["RulePolicy"]

_UNDECIDED: Final = "No rule allows this, and no one can be asked"


class RulePolicy:
    """Answers all permission requests of a session by rules.

    `mode`, `cwd` and `additional_directories` must be those of the session, because paths in commands are resolved
    against them. `cwd` defaults to the folder of this process.
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
        self._nested_git: NestedGit | None = None

    def decide(self, tool: str, input: Mapping[str, Any]) -> Decision:
        """The decision for one tool call, with all reasons."""
        from handrail.files.resolve import Disk, anchors_of
        from handrail.permissions.decide import Circumstances, decide

        anchors = anchors_of(self.cwd, additional=self.additional_directories)
        circumstances = Circumstances(
            anchors=anchors,
            mode=self.mode,
            rules=self.rules,
            bypass_available=self.mode == "bypassPermissions",
            trusted=not self._unsafe_git(input),
        )
        return decide(tool, input, circumstances, Disk(anchors))

    def _unsafe_git(self, input: Mapping[str, Any]) -> str:
        """A repository that would run something unaccepted, if the call is a command that may run git."""
        from handrail.settings.nested_git import NestedGit, may_run_git

        if not may_run_git(input.get("command")):
            return ""
        if self._nested_git is None:
            self._nested_git = NestedGit()
        return self._nested_git.unsafe(self.cwd, self.additional_directories)

    async def __call__(self, request: PermissionRequest) -> Any:
        """Answer a permission request."""
        decision = self.decide(request.tool_name, request.input)
        if decision.behavior == "allow":
            return Allow()
        if decision.behavior == "deny":
            return Deny(f"Denied: {decision.reason}.")
        if self._otherwise is None:
            return Deny(f"{_UNDECIDED}: {decision.reason}.")
        return await call(self._otherwise, request)


def _read(texts: Sequence[str], behavior: Behavior) -> list[SourcedRule]:
    if isinstance(texts, str):
        raise ValueError(f"RulePolicy({behavior}=…) must be a list of rules, such as [{texts!r}]")
    for text in cast("Sequence[object]", texts):
        if not isinstance(text, str):
            raise ValueError(f"RulePolicy({behavior}=…) must be a list of strings, but {text!r} is not a string")
    rules = read_rules(texts, behavior, "session")
    for rule in rules:
        if rule.broken:
            raise ValueError(f"RulePolicy({behavior}=…): {rule.broken}")
    return rules
