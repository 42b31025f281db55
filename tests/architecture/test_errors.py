"""All exceptions form one tree, and each says whose fault it is."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from handrail.client import errors as public
from tests.architecture.repository import PACKAGE, modules, tree_of

ROOT = "handrail.errors.HandrailError"
BRANCHES = {f"handrail.errors.{name}" for name in ("CallerError", "PeerError", "MachineError", "InternalError")}
GROUPS = {
    ROOT,
    "handrail.errors.ProtocolError",
    "handrail.agent.errors.AgentError",
    "handrail.bridge.errors.BridgeError",
    "handrail.transcripts.errors.TranscriptError",
}
"""Caught and never raised: their subclasses have the branch."""
SHIM = "handrail.claude_agent_sdk.errors"
"""Has the tree of the official package. Objects that Handrail raises belong to both trees."""
CONTROL_FLOW = {
    "Unclear": "the reader of shell text gives up, and the text is asked about",
    "MovedToBackground": "the user moved a call that runs to the background",
    "StoppedByCage": "the cage stopped a command, which is then asked about",
    "WindowFull": "the conversation does not fit, and is compacted",
    "Rejected": "the user denied a call, which ends the turn",
    "Deferred": "a call waits for the host, which ends the turn",
    "Interrupted": "Ctrl+C at a prompt of the terminal",
    "CutOff": "a follower does not read, and is disconnected",
    "NoResponder": "no machine answers, and the next one is asked",
    "Conflict": "a compare-and-set lost, and is repeated with the new value",
    "LeaseExpired": "the machine lost its lease, and ends its processes",
}
"""Raised and caught inside one package to leave several calls at once. No one made a mistake, so a handler of
HandrailError on the way must not see them."""
BUILT_IN = {name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)}


@dataclass
class Module:
    """What one module imports, defines and calls, by full names."""

    imports: dict[str, str] = field(default_factory=dict[str, str])
    classes: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    raised: set[str] = field(default_factory=set[str])


@cache
def index() -> dict[str, Module]:
    return {name_of(path): read(path) for path in modules()}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def read(path: Path) -> Module:
    found, here = Module(), name_of(path)
    nodes = list(ast.walk(tree_of(path)))
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            found.imports |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    local = {node.name: f"{here}.{node.name}" for node in nodes if isinstance(node, ast.ClassDef)}
    known = found.imports | local
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            found.classes[local[node.name]] = [known.get(name := ast.unparse(base), name) for base in node.bases]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in known:
            found.raised.add(known[node.func.id])
    return found


def lineage(name: str) -> set[str]:
    """The full names of a class and of everything above it; a name imported through a package is followed."""
    module, _, own = name.rpartition(".")
    known = index().get(module)
    if known is None:
        return {name}
    if name not in known.classes:
        return lineage(known.imports[own]) if own in known.imports else {name}
    return {name}.union(*(lineage(base) for base in known.classes[name]))


@cache
def exceptions() -> dict[str, set[str]]:
    found = {name: lineage(name) for module in index().values() for name in module.classes}
    return {name: above for name, above in found.items() if above & BUILT_IN and not above & {"Warning", "UserWarning"}}


def is_control_flow(name: str) -> bool:
    own = name.rpartition(".")[2]
    return own.startswith("_") or own in CONTROL_FLOW


def test_every_exception_has_the_root_and_one_branch():
    wrong = {
        name: sorted(above & BRANCHES)
        for name, above in exceptions().items()
        if not is_control_flow(name) and not name.startswith(f"{SHIM}.")
        if ROOT not in above or len(above & BRANCHES) != (name not in GROUPS)
    }
    assert wrong == {}
    assert ROOT in exceptions()[f"{SHIM}.ClaudeSDKError"]


def test_the_root_and_the_groups_are_never_raised():
    raised = {name for module in index().values() for kind in module.raised for name in lineage(kind) & {kind}}
    assert raised & GROUPS == set()


def test_every_public_error_or_one_below_it_is_raised():
    raised = {name for module in index().values() for kind in module.raised for name in lineage(kind)}
    assert [name for name in public.__all__ if not any(kind.endswith(f".{name}") for kind in raised)] == []


def test_control_flow_stays_in_its_package():
    """A private one in its module, a public one in its package; and it is not an error of the tree."""
    flow = {name: above for name, above in exceptions().items() if is_control_flow(name)}
    assert [name for name, above in flow.items() if ROOT in above] == []
    leaks = [
        f"{module} imports {name}"
        for module, facts in index().items()
        for name in set(facts.imports.values()) & set(flow)
        if name.rpartition(".")[2].startswith("_") or module.split(".")[1] != name.split(".")[1]
    ]
    assert leaks == []
    assert {name.rpartition(".")[2] for name in flow} >= set(CONTROL_FLOW)
