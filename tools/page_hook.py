"""Before a wheel is built: the page is built, so that the wheel carries it. In: web/. Out: src/handrail/bridge/page.

An editable install builds nothing: `make serve` does, where the page is missing or older than its sources.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface[Any]):
    """Builds the page with npm, unless it is there."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """A wheel without its page is no wheel: what fails here ends the build."""
        root = Path(self.root)
        if version == "editable" or (root / "src/handrail/bridge/page/index.html").is_file():
            return
        npm = shutil.which("npm")
        if npm is None:
            raise RuntimeError("the page cannot be built: npm is not there; install Node.js, or run `make page` first")
        for arguments in (["ci", "--no-audit", "--no-fund"], ["run", "build"]):
            subprocess.run([npm, "--prefix", str(root / "web"), *arguments], check=True)
