"""Decides every case of permission corpora and reports, per class, the cases that are decided wrongly.

    python tests/permissions/measure_corpus.py FOLDER [--cage] [--verbose]

FOLDER holds `layout.py`, which builds the folders that the cases assume, and files with one case per line. A case is
wrong if the decision is weaker than the expected one, or if a benign case asks. Exits with 1 if any is weaker.
"""

from __future__ import annotations

import argparse
import json
import runpy
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, get_args

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from handrail.files.resolve import Disk, anchors_of
from handrail.permissions.circumstances import Circumstances, Decision
from handrail.permissions.decide import decide
from handrail.permissions.rules.rule import Behavior, read_rules

FILES = ("bash.jsonl", "bash_2.jsonl", "path.jsonl")
STRENGTH = {"allow": 0, "ask": 1, "deny": 2}


def decided(case: dict[str, Any], root: Path, *, cage: bool) -> Decision:
    """Decide one case, with `/w` replaced by the folder of the layout."""

    def here(text: str) -> str:
        return text.replace("/w/", f"{root}/")

    # The older cases speak of a home at /tmp/home.
    home = "/tmp/home" if "/tmp/home" in case.get("cmd", "") else str(root / "home")
    anchors = anchors_of(str(root / "proj"), home=home)
    rules = [
        rule
        for behavior in get_args(Behavior)
        for rule in read_rules([here(text) for text in case[behavior]], behavior, "userSettings")
    ]
    circumstances = Circumstances(
        anchors=anchors,
        mode=case["mode"],
        rules=tuple(rules),
        bypass_available=case["mode"] == "bypassPermissions",
        cage=cage,
    )
    if "cmd" in case:
        return decide("Bash", {"command": here(case["cmd"])}, circumstances, Disk(anchors))
    return decide(case["tool"], {"file_path": here(case["path"])}, circumstances, Disk(anchors))


def main() -> int:
    """Report every file of the folder; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cage", action="store_true", help="decide as if commands could run in the cage")
    parser.add_argument("--verbose", action="store_true", help="show every case that is decided wrongly")
    asked = parser.parse_args()
    weaker = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "w"
        root.mkdir()
        runpy.run_path(str(asked.folder / "layout.py"))["build"](root)
        for name in FILES:
            weaker += _report(name, asked.folder / name, root, asked)
    return 1 if weaker else 0


def _report(name: str, file: Path, root: Path, asked: argparse.Namespace) -> int:
    totals, wrong, weaker = Counter[str](), Counter[str](), 0
    for line in file.read_text().splitlines():
        case = json.loads(line)
        kind = case.get("cls", "path")
        decision = decided(case, root, cage=asked.cage)
        totals[kind] += 1
        weak = STRENGTH[decision.behavior] < STRENGTH[case["expect"]]
        # A caged command is harmless although it is allowed.
        weak = weak and not (asked.cage and decision.caged)
        weaker += weak
        if weak or (kind == "benign" and decision.behavior != "allow"):
            wrong[kind] += 1
            if asked.verbose:
                print(f"  {case['id']} {kind} {case['mode']} {decision.behavior} != {case['expect']}:", end=" ")
                print(case.get("cmd", case.get("path")), "|", decision.reason)
    print(f"{name}: {weaker} weaker than required")
    for kind, count in sorted(totals.items()):
        print(f"  {kind:22} {wrong[kind]:3} of {count}")
    return weaker


if __name__ == "__main__":
    sys.exit(main())
