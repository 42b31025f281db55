"""Writes a store as an older version wrote it: `python -m tests.bridge.store.old_stores.make PROGRAM OUT`.

PROGRAM is the `handrail` of that version, installed into a separate environment. The store gets a session with
one turn, a browser that logged in by a link, and a program with a token. `store-0.1.db.gz` was made with commit
e4653dc, the last one before the work on 0.2 began:

    git worktree add ../handrail-0.1 e4653dc
    uv venv ../handrail-0.1/.venv
    uv pip install --python ../handrail-0.1/.venv -c constraints.txt -e '../handrail-0.1[bridge]'
    .venv/bin/python -m tests.bridge.store.old_stores.make ../handrail-0.1/.venv/bin/handrail store-0.1.db.gz

The token of the program is printed; the tests use it.
"""

from __future__ import annotations

import asyncio
import gzip
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

from tests.cli.served import answers, serving

FOLDER = Path("/tmp/handrail-old-store")  # the same in every store


def main(program: str, out: Path) -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    agent = str(Path(program).with_name("handrail-agent"))
    with serving(FOLDER, "--cli", agent, program=[program], HOME=str(FOLDER)) as server:
        with server.browser() as client:
            assert server.lets_in(client)
            asyncio.run(answers(server, client, FOLDER))
        add = [program, "devices", "add", "nightly report", "--scope", "view", "--data", str(FOLDER / "data")]
        print(subprocess.run(add, check=True, capture_output=True, text=True).stdout.strip())
        server.ends()
    with sqlite3.connect(FOLDER / "data" / "handrail.db") as db:
        db.execute("PRAGMA journal_mode=DELETE")
        db.execute("VACUUM")
    db.close()
    out.write_bytes(gzip.compress((FOLDER / "data" / "handrail.db").read_bytes(), mtime=0))
    shutil.rmtree(FOLDER)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
