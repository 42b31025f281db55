"""The page in Chromium: loading time, smoothness, memory and download size."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.figures import Section, at_most
from benchmarks.workbench import Workbench

__all__ = ["measure"]

WEB = Path(__file__).parent.parent / "web"
PATIENCE = 1200.0
MIB = 2**20


def measure(bench: Workbench) -> Section:
    """Run the script that drives Chromium."""
    found = _run(bench)
    scrolling, writing, heap, new = found["scrolling"], found["writing"], found["heap"], found["heap_new"]
    growth = (heap["many"] / heap["few"] - 1) * 100
    return Section(
        "The page in a browser",
        f"Chromium on the same machine as the server, without a graphics card; the best of three rounds. A session of "
        f"{found['messages']:,} messages: from loading the page until its newest messages are drawn; then scrolling by "
        f"120 pixels per frame while older messages are still loading. An answer of {found['rate']} deltas per second, "
        f"with lists and code. The heap after garbage collection, after {found['few']:,} and {found['many']:,} more "
        "deltas in the long session and in a new one: the page keeps the text (four characters per delta), but not "
        "the deltas. The first load: the page, its scripts and its styles, compressed with gzip.",
        ("", "", ""),
        (
            (f"first screen of {found['messages']:,} messages", f"{found['first_screen']:.0f} ms", ""),
            ("frames while scrolling", f"p99 {scrolling['p99']:.0f} ms", f"longest {scrolling['longest']:.0f} ms"),
            (
                f"frames at {found['rate']} deltas/s",
                f"p99 {writing['p99']:.0f} ms",
                f"longest {writing['longest']:.0f} ms",
            ),
            ("heap, a long session", f"{heap['few'] / MIB:.2f} MiB", f"{heap['many'] / MIB:.2f} MiB"),
            ("heap, a new session", f"{new['few'] / MIB:.2f} MiB", f"{new['many'] / MIB:.2f} MiB"),
            ("first load, compressed", f"{found['bundle'] / 1000:.0f} kB", ""),
        ),
        (
            at_most(
                f"first screen of {found['messages']:,} messages in a browser", 1, found["first_screen"] / 1000, " s"
            ),
            at_most("frames while scrolling them, p99", 50, scrolling["p99"], " ms"),
            at_most("frames while scrolling them, longest", 150, scrolling["longest"], " ms"),
            at_most(f"frames at {found['rate']} deltas a second, p99", 50, writing["p99"], " ms"),
            at_most(f"frames at {found['rate']} deltas a second, longest", 150, writing["longest"], " ms"),
            at_most(
                f"growth of a long session's heap from {found['few']:,} to {found['many']:,} deltas", 10, growth, " %"
            ),
            at_most("first load of the page, compressed", 200, found["bundle"] / 1000, " kB"),
        ),
    )


def _run(bench: Workbench) -> dict[str, Any]:
    """Return the figures. Raises RuntimeError if the page, Node or Chromium is missing."""
    out = bench.folder / "page.json"
    bench.say("the page in Chromium")
    environment = {**os.environ, "BENCH_OUT": str(out), "QUICK": "1" if bench.quick else "0"}
    command = ["npm", "--prefix", str(WEB), "run", "--silent", "bench"]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=PATIENCE, check=False)
    if done.returncode != 0 or not out.exists():
        words = (done.stdout + done.stderr).decode("utf-8", "replace").strip().splitlines()[-15:]
        raise RuntimeError(
            "\n".join(["npm run bench failed; `make bench BENCH_ARGS=web_page` builds what it needs", *words])
        )
    return json.loads(out.read_text())
