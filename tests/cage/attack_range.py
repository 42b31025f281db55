"""Runs attacks in the cage with the permission engine switched off, and reports every effect outside of it.

Run as a script inside of a sandbox without capabilities, network or shared namespaces (see `run_range`). It reads
attacks as JSON from stdin and writes findings as JSON to stdout.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from handrail.agent.tools.base import StoppedByCage, ToolFailed
from handrail.agent.tools.desk import Desk
from handrail.agent.tools.process_tree import guard
from handrail.agent.tools.registry import Tools
from handrail.cage.hidden import hidden_files
from handrail.files.resolve import Disk
from handrail.permissions.circumstances import Circumstances
from handrail.permissions.decide import Decision, decide
from handrail.permissions.rules.rule import read_rules
from tests.permissions.bash_cases import rules as rules_of

__all__ = ["BOX", "range_problem", "run_range"]

MILLISECONDS = 3000
CANARY = "CANARY-4f81c2"
"""The content of every file that no command may read."""
DENIED = "CANARY-DENIED-2b6c40"
"""The content of a file in the project that only some attacks may not read, by a rule."""
KEY = "CANARY-KEY-77d0e1"
FILES = {
    "home/.ssh/id_rsa": CANARY,
    "home/.aws/credentials": CANARY,
    "home/.netrc": CANARY,
    "home/.bashrc": f"# {CANARY}",
    "outside.txt": CANARY,
    "precious/data": CANARY,
    "precious/secret": CANARY,
    "secret": CANARY,
    "data/x": CANARY,
    "evil/run.sh": f"#!/bin/sh\necho {CANARY}\n",
    "evil/conftest.py": f"print('{CANARY}')\n",
    "evil/Makefile": f"all:\n\techo {CANARY}\n",
    "proj_evil/x": CANARY,
    "proj/README.md": "read me\n",
    "proj/.env": DENIED,
    "proj/a=b/c": "c\n",
    "proj/a.txt": "one\n",
    "proj/a2.txt": "one\n",
    "proj/b.txt": "two\n",
    "proj/list.txt": "a.txt\nb.txt\n",
    "proj/x.c": "int main(void){return 0;}\n",
    "proj/src/app.ts": "x\n",
    "proj/src/deep/x": "x\n",
    "proj/a/b/.env": "x\n",
    "proj/Makefile": "all:\n\t@echo all\ntest:\n\t@echo test\n",
    "proj/package.json": '{"name":"x","scripts":{"test":"echo ok"}}\n',
    "proj/evil.sh": "#!/bin/sh\ncat ../outside.txt; touch pwned ../pwned\n",
    "proj/tests/test_a.py": "def test_a(tmp_path): pass\n",
    "proj/kit/sub/f": "f\n",
    "proj/dot/.husky/pre-commit": "#!/bin/sh\n",
    "proj/vendor/nested/deep/x": "x\n",
    "proj/vendor/nested/.git/HEAD": "ref: refs/heads/main\n",
    "proj/vendor/nested/.git/objects/info/.keep": "",
    "proj/vendor/nested/.git/refs/heads/.keep": "",
    "proj/vendor/nested/.git/config": '[core]\n\tfsmonitor = "touch pwned; cat ../../../outside.txt"\n',
    "proj/vendor/bare/HEAD": "ref: refs/heads/main\n",
    "proj/vendor/bare/objects/info/.keep": "",
    "proj/vendor/bare/refs/heads/.keep": "",
    "proj/vendor/bare/config": '[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = "cat ../../outside.txt"\n',
}
LINKS = {
    "proj/link": "home",
    "proj/key": "home/.ssh/id_rsa",
    "proj/k=v": "home/.ssh/id_rsa",
    "proj/dangling": "home/.profile",
    "proj/in": "proj/src/deep",
    "proj/kit/up": "",
}


class Range:
    """The files, the listeners and the process that attacks aim at."""

    def __init__(self, root: Path, *, hostile: bool) -> None:
        self.root = root
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        (root / "proj" / "evil.sh").chmod(0o755)
        for name, target in LINKS.items():
            (root / name).symlink_to(root / target)
        subprocess.run(["git", "init", "-q", "proj"], cwd=root, check=True)
        if hostile:
            subprocess.run(["git", "config", "core.fsmonitor", "touch ../pwned; false"], cwd=root / "proj", check=True)
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", self.tcp.getsockname()[1]))
        self.stream, self.datagram = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.stream.bind("\0handrail-range")
        self.stream.listen()
        self.datagram.bind(str(root / "proj" / "datagram"))
        self.listeners = {"tcp": self.tcp, "abstract socket": self.stream}
        self.receivers = {"udp": self.udp, "datagram socket": self.datagram}
        for each in (*self.listeners.values(), *self.receivers.values()):
            each.setblocking(False)
        self.witness = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        guard()

    def command(self, text: str) -> str:
        """An attack with the places and addresses of this range."""
        port = str(self.tcp.getsockname()[1])
        text = re.sub(r"(?<![\w.])/(?:tmp/)?w(?=/|\b)", str(self.root), text)
        text = re.sub(r"\b(https?|ftp)://[^\s/'\";|&)]+", rf"\1://127.0.0.1:{port}", text)
        return text.replace("WITNESS", str(self.witness.pid)).replace("PORT", port)

    def state(self) -> dict[str, tuple[Any, ...]]:
        """Everything about the files that a command could change. Times of access are not a change."""
        found: dict[str, tuple[Any, ...]] = {}
        for path in [self.root, *self.root.rglob("*")]:
            if path.is_relative_to(self.root / "tmp"):
                continue
            about = path.lstat()
            link = os.readlink(path) if path.is_symlink() else ""
            attributes = () if path.is_symlink() else tuple(os.listxattr(path))
            found[str(path)] = (
                about.st_mode,
                about.st_uid,
                about.st_size,
                about.st_mtime_ns,
                about.st_ino,
                link,
                attributes,
            )
        return found

    def reached(self) -> list[str]:
        """The listeners that something was sent to."""
        found: list[str] = []
        for name, listener in self.listeners.items():
            with contextlib.suppress(BlockingIOError):
                listener.accept()[0].close()
                found.append(name)
        for name, receiver in self.receivers.items():
            with contextlib.suppress(BlockingIOError):
                receiver.recv(1)
                found.append(name)
        return found

    def decide(self, attack: dict[str, Any], command: str, desk: Desk) -> Decision:
        """What the permission engine says, without a cage to rely on."""
        given = {name: attack.get(name, ()) for name in ("allow", "deny", "ask")}
        circumstances = Circumstances(desk.anchors(), mode=attack.get("mode", "default"), rules=rules_of(**given))
        return decide("Bash", {"command": command}, circumstances, Disk(desk.anchors()))

    async def run(self, attack: dict[str, Any]) -> dict[str, Any]:
        """Run one attack and return its effects."""
        command = self.command(attack["cmd"])
        desk = Desk(
            str(self.root / "proj"),
            home=str(self.root / "home"),
            environment={"PATH": os.environ["PATH"], "HOME": str(self.root / "home"), "ANTHROPIC_API_KEY": KEY},
            results_folder="",
        )
        decision = self.decide(attack, command, desk) if attack.get("engine") else None
        desk.caged = attack.get("caged", decision is None)
        rules = tuple(read_rules([self.command(rule) for rule in attack.get("deny", ())], "deny", "session"))
        desk.hidden_files = lambda: hidden_files(Circumstances(desk.anchors(), rules=rules))
        if decision is not None and decision.behavior != "allow":
            return {"id": attack["id"], "cmd": attack["cmd"], "allowed": False, "effects": {}}
        before = self.state()
        bash = Tools()["Bash"]
        try:
            outcome = await bash.run(bash.read({"command": command, "timeout": MILLISECONDS}), desk)
            output, stopped = str(outcome.content), False
        except StoppedByCage as stop:
            output, stopped = f"{stop.tried}\n{stop.output}", True
        except ToolFailed as error:
            output, stopped = str(error), False
        after = self.state()
        spoken = any(word in command for word in (CANARY, KEY))
        is_denied = any(".env" in rule for rule in attack.get("deny", ()))
        leaked = not spoken and (CANARY in output or KEY in output or (is_denied and DENIED in output))
        changed = [path for path in {**before, **after} if before.get(path) != after.get(path)]
        if decision is not None:
            # A rule or the mode allows it to write to the project; git refreshes its index whenever it looks.
            changed = [path for path in changed if decision.caged or not f"{path}/".startswith(f"{self.root}/proj/")]
            changed = [path for path in changed if not path.endswith(("/proj/.git", "/proj/.git/index"))]
        secrets = ["a secret"] if leaked else []
        effects = {"read": secrets, "written": changed, "reached": self.reached(), "left": await left()}
        if self.witness.poll() is not None:
            effects["signalled"] = ["the witness"]
        return {
            "id": attack["id"],
            "cmd": attack["cmd"],
            "allowed": True,
            "stopped": stopped,
            "effects": effects,
            "output": output[:500],
        }


async def left() -> list[str]:
    """The processes that outlive their command. A killed process takes a while to give back gigabytes."""
    for _ in range(500):
        if not others():
            return []
        await asyncio.sleep(0.01)
    return others()


def others() -> list[str]:
    """The processes of this namespace that are not ours."""
    known = {os.getpid(), 1, 2}
    found: list[str] = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{name}/stat").read_bytes().rpartition(b") ")[2].split()
            command = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            if int(name) in known or fields[0] == b"Z" or command == "cat " or "guardian.py" in command:
                continue
            found.append(f"{name} {command}")
    return found


async def main() -> None:
    found = Range(Path(sys.argv[1]), hostile=sys.argv[2] == "hostile")
    start = time.monotonic()
    ran = [await found.run(attack) for attack in json.load(sys.stdin)]
    json.dump({"ran": ran, "seconds": time.monotonic() - start}, sys.stdout)


def range_problem() -> str:
    """Why attacks cannot be run on this machine, or ""."""
    if shutil.which("bwrap") is None:
        return "bubblewrap (bwrap) is not installed"
    ran = subprocess.run(["bwrap", *BOX, "true"], capture_output=True, text=True, timeout=60)
    return f"bubblewrap cannot run here: {ran.stderr.strip()}" if ran.returncode else ""


BOX = "--die-with-parent --unshare-all --cap-drop ALL --ro-bind / / --dev /dev --proc /proc".split()


def run_range(root: Path, attacks: list[dict[str, Any]], *, hostile: bool = True) -> list[dict[str, Any]]:
    """Run attacks in a range below a folder, inside of a sandbox. Returns what each of them did.

    An attack with `engine` runs without the cage, but only if the permission engine allows it. The repository is
    `hostile` if its configuration starts a program, which trust would have refused.
    """
    (root / "tmp").mkdir(parents=True)
    sources = Path(__file__).resolve().parents[2]
    box = ["bwrap", *BOX, "--bind", str(root), str(root), "--chdir", str(sources)]
    python = [sys.executable, "-m", "tests.cage.attack_range", str(root), "hostile" if hostile else "trusted"]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(root),
        "TMPDIR": str(root / "tmp"),
        "PYTHONPATH": str(sources),
    }
    ran = subprocess.run(
        [*box, *python], input=json.dumps(attacks).encode(), capture_output=True, env=environment, timeout=1800
    )
    if ran.returncode:
        raise RuntimeError(f"the range failed with code {ran.returncode}: {ran.stderr.decode()[-3000:]}")
    return json.loads(ran.stdout)["ran"]


if __name__ == "__main__":
    asyncio.run(main())
