"""Runs the agent against recordings of the real CLI, and fails if a scenario differs that is not listed as known.

The known differences are listed in tools/wirelab-differences.txt, one name per line, `#` before a comment. A listed
scenario that agrees is reported, so that the list can be shortened, and does not fail the run.

    python tools/wirelab.py --lab ../shared/protocol/wirelab --cli .venv/bin/handrail-agent --set 1 --set 2 --tier 1
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

AGREES = "pass"
KNOWN = Path(__file__).with_name("wirelab-differences.txt")


def known_differences(text: str) -> set[str]:
    """The names in the list."""
    names = (line.partition("#")[0].strip() for line in text.splitlines())
    return {name for name in names if name}


def main() -> int:
    """Run the chosen sets and tiers. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lab", type=Path, required=True, help="the folder of wirelab")
    parser.add_argument("--cli", type=Path, required=True, help="the executable to test")
    parser.add_argument("--set", action="append", default=[], help="1 or 2; may be repeated")
    parser.add_argument("--tier", action="append", default=[], help="1 or 2; may be repeated")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        verdicts = Path(folder) / "verdicts.json"
        command = [sys.executable, "-B", "-m", "wirelab", "run", "--cli", str(options.cli.absolute())]
        command += ["--json", str(verdicts)]
        command += [word for number in options.set for word in ("--set", number)]
        command += [word for number in options.tier for word in ("--tier", number)]
        run = subprocess.run(command, cwd=options.lab)
        if not verdicts.exists():
            return run.returncode or 2
        rows = json.loads(verdicts.read_text(encoding="utf8"))
    known = known_differences(KNOWN.read_text(encoding="utf8"))
    differs = {row["name"] for row in rows if row["status"] != AGREES}
    agrees = {row["name"] for row in rows} - differs
    print(f"{len(agrees)} of {len(rows)} agree; {len(differs & known)} are known to differ")
    for name in sorted(agrees & known):
        print(f"agrees now; remove it from the list: {name}")
    for name in sorted(differs - known):
        print(f"differs, but is not listed: {name}", file=sys.stderr)
    return 1 if differs - known else 0


if __name__ == "__main__":
    sys.exit(main())
