"""A collection of ordinary commands, each marked with whether a careful user expects it to run without a question.

`corpus/ordinary.txt` has one command per line. A `+` marks commands that only read in the project or report about the
machine, a `-` those that change, run or send something, or read elsewhere. Indented lines continue a command.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from handrail.files.resolve import Disk, anchors_of
from handrail.permissions.circumstances import Circumstances, Decision
from handrail.permissions.decide import decide

COLLECTION: Final = Path(__file__).parent / "corpus" / "ordinary.txt"
PROJECT: Final = """
    .git/HEAD .git/config .github/workflows/ci.yml .gitignore CHANGELOG.md Cargo.toml Makefile README.md build/app
    data/app.db data/archive.tar data/archive.tgz data/archive.zip data/config.json data/events.jsonl data/feed.xml
    data/users.csv docs/api.md docs/guide.md go.mod logs/app.log logs/old.log.gz package.json pyproject.toml
    scripts/build.sh src/app.py src/index.ts src/util.py tests/test_app.py
""".split()
CONTENTS: Final = {
    ".git/HEAD": "ref: refs/heads/main\n",
    "Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\n[lib]\npath = "src/lib.rs"\n',
    "data/config.json": "{}\n",
    "go.mod": "module example.com/app\n",
    "package.json": '{"name": "app", "version": "1.0.0", "scripts": {"test": "true"}}\n',
}


class Ordinary(NamedTuple):
    """A command, and whether it should run without a question."""

    command: str
    unasked: bool


def ordinary_commands() -> list[Ordinary]:
    found = list[Ordinary]()
    for line in COLLECTION.read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            found[-1] = found[-1]._replace(command=f"{found[-1].command}\n{line[2:]}")
        elif line and not line.startswith("#"):
            found.append(Ordinary(line[2:], unasked=line[0] == "+"))
    return found


def build_project(folder: Path) -> None:
    """Create the files that the commands name."""
    for name in PROJECT:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CONTENTS.get(name, ""))


def decide_in(folder: Path, command: str, *, cage: bool) -> Decision:
    """Decide a command in a trusted folder without rules."""
    anchors = anchors_of(str(folder.resolve()))
    return decide("Bash", {"command": command}, Circumstances(anchors=anchors, cage=cage), Disk(anchors))
