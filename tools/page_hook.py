"""Build hook that builds the page from web/ into src/handrail/bridge/page, so that the wheel contains it.

An editable install does not build the page. `make serve` builds it if it is missing or older than its sources.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface[Any]):
    """Builds the page with npm, unless it exists."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page. An error ends the build, because a wheel without the page is useless."""
        root = Path(self.root)
        if version == "editable" or (root / "src/handrail/bridge/page/index.html").is_file():
            return
        npm = shutil.which("npm")
        if npm is None:
            raise RuntimeError("the page cannot be built: npm is not there; install Node.js, or run `make page` first")
        for arguments in (["ci", "--no-audit", "--no-fund"], ["run", "build"]):
            subprocess.run([npm, "--prefix", str(root / "web"), *arguments], check=True)
