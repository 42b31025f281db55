"""An isolated environment for running a CLI: temporary folders and a clean set of environment variables.

The CLI does not see the user's home, keys or settings, and can connect only to loopback.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from handrail.conform.messages_api import Endpoint

FAKE_KEY = "sk-test-not-a-key"
PROCESSES = Path("/proc")

CLEAN = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "ANTHROPIC_API_KEY": FAKE_KEY,
    # Nothing listens on this port, so that connections to other hosts fail at once.
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1,localhost",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "IS_SANDBOX": "1",
}


class Lab:
    """Temporary folders for a CLI: home, project, one outside the project, and TMPDIR."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.home, self.project = self.root / "home", self.root / "project"
        self.outside, self.temporary = self.root / "outside", self.root / "tmp"
        for folder in (self.home, self.project, self.outside, self.temporary):
            folder.mkdir(parents=True, exist_ok=True)

    def environment(self, endpoint: Endpoint | None = None, **extra: str) -> dict[str, str]:
        """The complete environment for a process. Without an endpoint, requests to the model fail."""
        return {
            **CLEAN,
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "ANTHROPIC_BASE_URL": endpoint.url if endpoint else "http://127.0.0.1:9",
            **extra,
        }

    def leftovers(self) -> list[int]:
        """Ids of other processes that run with this lab's HOME. Raises RuntimeError on systems without /proc."""
        if not PROCESSES.is_dir():
            raise RuntimeError("leftovers() reads /proc, which this system lacks")
        pids = sorted(int(entry.name) for entry in PROCESSES.iterdir() if entry.name.isdigit())
        return [pid for pid in pids if pid != os.getpid() and self._runs_here(pid)]

    def _runs_here(self, pid: int) -> bool:
        with suppress(OSError):  # the process has exited or belongs to another user
            environment = (PROCESSES / str(pid) / "environ").read_bytes()
            return b"HOME=" + os.fsencode(self.home) in environment.split(b"\0")
        return False
