"""A throw-away PostgreSQL server, on a Unix socket only, in a temporary folder."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

READY_WITHIN = 60


def find_program(name: str) -> Path:
    """A program of PostgreSQL: from PATH, else from where Debian installs it. Raises FileNotFoundError."""
    found = shutil.which(name)
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    if found is None and not installed:
        raise FileNotFoundError(f"{name} not found; install PostgreSQL, on Debian with `apt-get install postgresql`")
    return Path(found) if found else installed[-1]


@contextmanager
def postgres_server() -> Iterator[str]:
    """Start a server and yield its dsn. It refuses to run as root, so root starts it as an unprivileged user."""
    user = _unprivileged_user() if os.geteuid() == 0 else None
    # Not below pytest's folder: the path of a Unix socket has at most 107 characters, and its parents are private.
    folder = Path(tempfile.mkdtemp(prefix="handrail-pg-", dir="/tmp"))
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user is not None else {}
    options = {"cwd": folder, "env": {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}, **as_user}
    data = folder / "data"
    try:
        initialize = [find_program("initdb"), "-D", data, "-U", "handrail", "-A", "trust", "--no-sync", "-E", "UTF8"]
        subprocess.run(initialize, check=True, stdout=subprocess.DEVNULL, timeout=READY_WITHIN, **options)
        control = find_program("pg_ctl")
        settings = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        start = [control, "-D", data, "-o", settings, "-l", folder / "log", "-w", "-t", str(READY_WITHIN), "start"]
        subprocess.run(start, check=True, stdout=subprocess.DEVNULL, timeout=READY_WITHIN * 2, **options)
        try:
            yield f"postgresql://handrail@/postgres?host={folder}"
        finally:
            stop = [control, "-D", data, "-m", "immediate", "-w", "stop"]
            subprocess.run(stop, check=True, stdout=subprocess.DEVNULL, timeout=READY_WITHIN, **options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged_user() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")
