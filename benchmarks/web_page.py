"""The page in a browser. In: a workbench, Node and Chromium. Out: how soon, how smooth, how large."""

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
    """All of it, by the script that drives Chromium."""
    told = _run(bench)
    scrolling, writing, heap, new = told["scrolling"], told["writing"], told["heap"], told["heap_new"]
    growth = (heap["many"] / heap["few"] - 1) * 100
    return Section(
        "The page in a browser",
        f"Chromium on this machine, without a graphics card, with the server beside it; the best of three rounds. A "
        f"session of {told['messages']:,} messages: from loading the page to its newest messages, drawn; then a wheel "
        f"turned by a notch of 120 pixels in each frame, while the older messages are still loaded. An answer of "
        f"{told['rate']} deltas a second, with lists and code. The heap after all rubbish was collected, where the "
        f"long session goes on for {told['few']:,} and for {told['many']:,} deltas, and where a new one does: what "
        f"was written, four letters a delta, is kept once; how it was written is not. What is loaded first: the page, "
        "its scripts and its styles, each packed by gzip.",
        ("", "", ""),
        (
            (f"first screen of {told['messages']:,} messages", f"{told['first_screen']:.0f} ms", ""),
            ("frames while scrolling", f"p99 {scrolling['p99']:.0f} ms", f"longest {scrolling['longest']:.0f} ms"),
            (
                f"frames at {told['rate']} deltas/s",
                f"p99 {writing['p99']:.0f} ms",
                f"longest {writing['longest']:.0f} ms",
            ),
            ("heap, a long session", f"{heap['few'] / MIB:.2f} MiB", f"{heap['many'] / MIB:.2f} MiB"),
            ("heap, a new session", f"{new['few'] / MIB:.2f} MiB", f"{new['many'] / MIB:.2f} MiB"),
            ("what is loaded first", f"{told['bundle'] / 1000:.0f} kB", ""),
        ),
        (
            at_most(
                f"first screen of {told['messages']:,} messages in a browser", 1, told["first_screen"] / 1000, " s"
            ),
            at_most("frames while scrolling them, p99", 50, scrolling["p99"], " ms"),
            at_most("frames while scrolling them, longest", 150, scrolling["longest"], " ms"),
            at_most(f"frames at {told['rate']} deltas a second, p99", 50, writing["p99"], " ms"),
            at_most(f"frames at {told['rate']} deltas a second, longest", 150, writing["longest"], " ms"),
            at_most(
                f"growth of a long session's heap from {told['few']:,} to {told['many']:,} deltas", 10, growth, " %"
            ),
            at_most("what the page loads first, packed", 200, told["bundle"] / 1000, " kB"),
        ),
    )


def _run(bench: Workbench) -> dict[str, Any]:
    """Out: the figures. RuntimeError where there is no page, no Node or no Chromium."""
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
