"""Decides ordinary commands, one per line of a file, without any rule, and prints those that ask.

python tests/permissions/measure_commands.py FILE FOLDER [--cage]

FOLDER is the working folder. A line that opens a here-document takes the following lines up to `EOF` with it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from handrail.files.resolve import Disk, anchors_of
from handrail.permissions.circumstances import Circumstances
from handrail.permissions.decide import decide


def main() -> None:
    """Print every command that asks, with the reason, and the share of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cage", action="store_true", help="decide as if commands could run in the cage")
    asked = parser.parse_args()
    anchors = anchors_of(str(asked.folder.resolve()))
    circumstances = Circumstances(anchors=anchors, cage=asked.cage)
    commands = list(_commands(asked.file.read_text().splitlines()))
    count = 0
    for command in commands:
        decision = decide("Bash", {"command": command}, circumstances, Disk(anchors))
        if decision.behavior != "allow":
            count += 1
            print(f"{command}  # {decision.reason}")
    print(f"{count} of {len(commands)} commands ask")


def _commands(lines: list[str]):
    rest = iter(lines)
    for line in rest:
        if "<<'EOF'" in line:
            yield "\n".join([line, *iter(lambda: next(rest), "EOF"), "EOF"])
        elif line.strip():
            yield line


if __name__ == "__main__":
    main()
