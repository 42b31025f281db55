"""Renews docs/pictures/ from the screenshots of `make screenshots`: `python -m tools.docs_pictures FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
WANTED = {
    "start": "welcome-light",
    "answer": "answer-light",
    "permission": "permission-edit-light",
    "permission-phone": "permission-bash-phone",
    "changes": "changes-light",
}
"""The name of each picture, and the state and look of its screenshot."""
MOST_BYTES = 600_000
"""All pictures together; they are part of every clone and source distribution."""


def main(screenshots: Path) -> None:
    PICTURES.mkdir(exist_ok=True)
    for name, state in WANTED.items():
        found = list(screenshots.glob(f"[0-9]*-{state}.png"))
        if len(found) != 1:
            sys.exit(
                f"docs-pictures: {len(found)} screenshots of {state} in {screenshots}; run `make screenshots` again"
            )
        with Image.open(found[0]) as picture:
            picture.convert("RGB").save(PICTURES / f"{name}.webp", lossless=True, method=6)
    if (size := sum(path.stat().st_size for path in PICTURES.iterdir())) > MOST_BYTES:
        sys.exit(f"docs-pictures: {size} bytes in {PICTURES}, more than {MOST_BYTES}; choose fewer or simpler states")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
