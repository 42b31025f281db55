"""Metadata hook that makes the README readable on a package index, where relative links lead nowhere.

A link to a file of the repository becomes plain text, and a picture of the repository is left out; absolute links and
anchors stay.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE_PICTURE = re.compile(r"^!\[[^\]]*\]\((?!https?:)[^)]+\)\n\n", re.MULTILINE)
RELATIVE_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#)[^)]+\)")


class ReadmeHook(MetadataHookInterface):
    """Sets the field `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling with the fields of `[project]`."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        shown = RELATIVE_LINK.sub(r"\1", RELATIVE_PICTURE.sub("", text))
        metadata["readme"] = {"content-type": "text/markdown", "text": shown}
