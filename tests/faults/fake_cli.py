"""A CLI that follows the instructions in its prompts and keeps a durable diary.

A prompt is a list of instructions with a number each, executed from left to right:

    blocks=2      text blocks: stream events, then the whole block         deltas=10    stream events of each block
    pause=5       milliseconds between stream events from now on           ask=1        a permission, and waits for it
    wide=200      letters of each stream event from now on                 flood=1000   lines of an unknown type
    crash=9       ends by this signal in mid-turn                          exit=3       exits with this code
    held=1        waits for SIGUSR1                                        shut=1       closes its stdin, keeps running
    silent=1      writes nothing until it is interrupted                   deaf=1       stops itself, reads nothing more
    mute=1        closes its stdout, keeps running                         stray=1      starts a grandchild
    stderr=1000   KiB of noise on stderr                                   stubborn=1   ignores interrupts and SIGTERM
    recall=1      a block with the number of earlier prompts it knows

Arguments: `--diary DIR`, and `--at-start die` or `--at-start hang`. Like the real CLI, it refuses to create a
conversation that exists and to resume one without prompts. It keeps track of them by a file in the diary folder or,
with `--transcripts yes`, only by a transcript at the path of the real CLI. Every line that it reads or writes is synced
to the diary first, and so is the id of another process that uses the same conversation. It imports only the standard
library and runs as `python -I -S`.
"""

from __future__ import annotations

import fcntl
import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time

Json = dict[str, object]
MARKED = "FAULTS_DIARIES"
"""Environment variable of all its descendants, by which tests find orphans."""


def write_cli(folder: os.PathLike[str] | str, *arguments: str, name: str = "fake-cli") -> str:
    """Write the executable into the folder of its diaries and return its path."""
    path = os.path.join(folder, name)
    words = " ".join(f'"{word}"' for word in ("--diary", os.fspath(folder), *arguments))
    with open(path, "w") as file:
        program = f'"{sys.executable}" -I -S "{os.path.abspath(__file__)}"'
        file.write(f'#!/bin/sh\nexport {MARKED}="{os.fspath(folder)}"\nexec {program} {words} "$@"\n')
    os.chmod(path, 0o700)
    return path


class Interrupted(Exception):
    """The turn was interrupted."""


class Cli:
    """One process."""

    def __init__(self, folder: str, conversation: str, talk: str) -> None:
        self._folder, self._conversation, self._talk = folder, conversation, talk
        path = os.path.join(folder, f"{time.time_ns()}-{os.getpid()}.diary")
        self._diary = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._lines: queue.SimpleQueue[Json | None] = queue.SimpleQueue()
        self._prompts: list[Json] = []
        self._pause, self._wide, self._asked, self._blocks = 0.0, 8, 0, 0
        self._stubborn = False
        self._wake, self._deaf = os.pipe(), threading.Event()
        self.note(begins=conversation, pid=os.getpid(), arguments=sys.argv[1:])
        self._claim()

    def _claim(self) -> None:
        """Lock the conversation; the kernel releases the lock when the process ends."""
        path = os.path.join(self._folder, f"{self._conversation}.claim")
        self._claimed = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._claimed, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.pwrite(self._claimed, b"%-10d" % os.getpid(), 0)
        except OSError:
            self.note(beside=os.pread(self._claimed, 10, 0).decode().strip(), pid=os.getpid())

    def note(self, **fields: object) -> None:
        """Append a note to the diary and sync it to disk."""
        os.write(self._diary, json.dumps(fields).encode() + b"\n")
        os.fsync(self._diary)

    def say(self, *lines: Json, durable: bool = True) -> None:
        """Write lines to stdout at once; `durable` ones are noted in the diary first."""
        if durable:
            self.note(wrote=list(lines))
        data = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]

    # Reading

    def listen(self) -> None:
        """Read stdin in a separate thread, so that lines are received during a turn."""
        rest = b""
        while self._wake[0] not in (ready := select.select([0, self._wake[0]], [], [])[0]) and ready:
            data = os.read(0, 65536)
            if not data:
                return self._lines.put(None)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._lines.put(json.loads(line))
        self._deaf.set()
        return None

    def hear(self, timeout: float | None = None) -> Json | None:
        """Wait for a line and handle it; returns it if it answers a control request of this process."""
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            return None
        if line is None:
            self.note(ends="stdin")
            raise SystemExit(0)
        kind = line.get("type")
        if kind == "user":
            self.note(read=line["uuid"], content=line["message"]["content"])
            self._prompts.append(line)
            self._life(line, "queued")
        elif kind == "control_request":
            self._obey(line)
        elif kind == "control_response":
            self.note(answer=line["response"])
            return line
        return None

    def _obey(self, line: Json) -> None:
        wanted = line["request"]["subtype"]
        payload: Json = {"commands": [], "agents": [], "models": [], "account": {}} if wanted == "initialize" else {}
        if wanted == "interrupt" and self._stubborn:
            return
        if wanted == "interrupt":
            payload = {"still_queued": [prompt["uuid"] for prompt in self._prompts]}
        body = {"subtype": "success", "request_id": line["request_id"], "response": payload}
        self.say({"type": "control_response", "response": body}, durable=False)
        if wanted == "interrupt" and self._turn_runs:
            raise Interrupted

    def _life(self, prompt: Json, state: str) -> None:
        line = {"type": "command_lifecycle", "command_uuid": prompt["uuid"], "state": state}
        self.say({**line, "session_id": self._conversation})

    # Turns

    def run(self) -> None:
        """Execute prompts until the input ends."""
        self._turn_runs = False
        while True:
            while not self._prompts:
                self.hear()
            prompt = self._prompts.pop(0)
            self._remember(prompt)
            self._turn_runs = True
            ended: Json = {"subtype": "success", "is_error": False, "result": "done"}
            try:
                self._play(prompt)
            except Interrupted:
                ended = {"subtype": "error_during_execution", "is_error": True, "errors": ["interrupted"]}
            self._turn_runs = False
            self._end(prompt, ended)

    def _remember(self, prompt: Json) -> None:
        os.makedirs(os.path.dirname(self._talk), exist_ok=True)
        with open(self._talk, "a") as file:
            entry = {"type": "user", "uuid": prompt["uuid"], "parentUuid": None, "message": prompt["message"]}
            entry |= {"sessionId": self._conversation, "cwd": os.getcwd(), "timestamp": "2026-01-01T00:00:00.000Z"}
            file.write(json.dumps({**entry, "isSidechain": False}) + "\n")

    def _play(self, prompt: Json) -> None:
        self._life(prompt, "started")
        self.say({"type": "system", "subtype": "init", "session_id": self._conversation, "model": "m", "tools": []})
        self.say({**prompt, "isReplay": True, "session_id": self._conversation})
        self._pause, self._wide, deltas = 0.0, 8, 0
        for word in str(prompt["message"]["content"]).split():
            name, _, number = word.partition("=")
            if name == "deltas":
                deltas = int(number)
            elif name == "blocks":
                for _ in range(int(number)):
                    self._block(prompt, deltas)
            elif name == "recall":
                with open(self._talk) as file:
                    self._block(prompt, 0, f" knows {len(file.readlines()) - 1}")
            elif name in self.words:
                self.words[name](self, int(number))

    def _end(self, prompt: Json, ended: Json) -> None:
        common = {"duration_ms": 1, "duration_api_ms": 1, "num_turns": 1, "total_cost_usd": 0.0, "usage": {}}
        of = {"session_id": self._conversation, "user_message_uuids": [prompt["uuid"]], "uuid": f"r-{prompt['uuid']}"}
        self._life(prompt, "completed")
        self.say({"type": "result", **ended, **common, **of})

    def _block(self, prompt: Json, deltas: int, more: str = "") -> None:
        """Stream one message with one block; its text begins with a unique mark."""
        self._blocks += 1
        mark = f"[{prompt['uuid']}.{os.getpid()}.{self._blocks}]"
        pieces = [mark, *(f"{n:x}".rjust(self._wide, "·") for n in range(deltas)), *([more] if more else [])]
        message = {
            "id": f"msg-{mark}",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [],
            "usage": {},
        }
        self._stream({"type": "message_start", "message": message})
        start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        self._stream(start)
        for piece in pieces:
            delta = {"type": "text_delta", "text": piece}
            self._stream({"type": "content_block_delta", "index": 0, "delta": delta})
            self._wait()
        whole = {**message, "content": [{"type": "text", "text": "".join(pieces)}]}
        common = {"parent_tool_use_id": None, "session_id": self._conversation}
        self.say({"type": "assistant", "message": whole, **common, "uuid": f"a-{mark}"})
        self._wait()
        self._stream({"type": "content_block_stop", "index": 0})
        self._wait()
        self._stream({"type": "message_stop"})

    def _wait(self) -> None:
        if self._pause:
            self.hear(self._pause)

    def _stream(self, event: Json) -> None:
        line = {"type": "stream_event", "event": event, "session_id": self._conversation, "parent_tool_use_id": None}
        self.say({**line, "at": time.clock_gettime(time.CLOCK_MONOTONIC)}, durable=False)

    # Instructions

    def set_pause(self, number: int) -> None:
        self._pause = number / 1000

    def set_wide(self, number: int) -> None:
        self._wide = number

    def ask(self, number: int) -> None:
        for _ in range(number):
            self._asked += 1
            id = f"ask-{os.getpid()}-{self._asked}"
            request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": id}, "tool_use_id": id}
            self.note(asked=id)
            line = {"type": "control_request", "request_id": id, "request": {**request, "permission_suggestions": []}}
            self.say(line, durable=False)
            while (answer := self.hear()) is None or answer["response"]["request_id"] != id:
                pass
            if answer["response"].get("response", {}).get("behavior") == "allow":
                self.note(ran=id)

    def flood(self, number: int) -> None:
        lines = [{"type": "novelty", "number": n, "session_id": self._conversation} for n in range(number)]
        for start in range(0, number, 500):
            self.say(*lines[start : start + 500])

    def crash(self, number: int) -> None:
        os.write(2, b"going down\n")
        os.kill(os.getpid(), number)

    def leave(self, number: int) -> None:
        os.write(2, b"leaving\n")
        os._exit(number)

    def hold(self, number: int) -> None:
        signal.sigwait({signal.SIGUSR1})

    def be_silent(self, number: int) -> None:
        while True:
            self.hear()

    def be_deaf(self, number: int) -> None:
        self.note(deaf=True)
        os.kill(os.getpid(), signal.SIGSTOP)

    def be_mute(self, number: int) -> None:
        os.close(1)
        while True:
            time.sleep(1)

    def shut(self, number: int) -> None:
        os.write(self._wake[1], b"x")
        self._deaf.wait()
        os.close(0)
        while True:
            time.sleep(1)

    def stray(self, number: int) -> None:
        child = subprocess.Popen(["sleep", "600"], start_new_session=True)
        self.note(stray=child.pid)

    def noise(self, number: int) -> None:
        for _ in range(number):
            os.write(2, b"noise on stderr" * 68 + b"end\n")

    def be_stubborn(self, number: int) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self._stubborn = True
        self.note(stubborn=True)
        while True:
            try:
                self.hear()
            except SystemExit:
                time.sleep(600)

    words = {
        "pause": set_pause,
        "wide": set_wide,
        "ask": ask,
        "flood": flood,
        "crash": crash,
        "exit": leave,
        "held": hold,
        "silent": be_silent,
        "deaf": be_deaf,
        "mute": be_mute,
        "shut": shut,
        "stray": stray,
        "stderr": noise,
        "stubborn": be_stubborn,
    }


def talk_of(folder: str, conversation: str, transcripts: object) -> str:
    """The file that marks an existing conversation."""
    if not transcripts:
        return os.path.join(folder, f"{conversation}.talk")
    home = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(os.environ["HOME"], ".claude")
    project = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in os.path.realpath(os.getcwd()))
    return os.path.join(home, "projects", project, f"{conversation}.jsonl")


def main() -> None:
    """Run the CLI."""
    if "--version" in sys.argv:
        print("2.1.325 (fake)")
        return
    given = dict(word[2:].split("=", 1) for word in sys.argv if word.startswith("--") and "=" in word)
    words = sys.argv[1:]
    given |= {word[2:]: words[n + 1] for n, word in enumerate(words[:-1]) if word.startswith("--") and "=" not in word}
    folder, at_start = given["diary"], given.get("at-start", "")
    conversation = given.get("session-id") or given.get("resume") or "unknown"
    transcripts = given.get("transcripts")
    said_before = os.path.exists(talk_of(folder, given.get("resume") or conversation, transcripts))
    cli = Cli(folder, conversation, talk_of(folder, conversation, transcripts))
    refusal = {
        at_start == "die": "this CLI refuses to start",
        "resume" in given and not said_before: f"No conversation found with session ID: {given.get('resume')}",
        "resume" not in given and said_before: f"Session ID {conversation} is already in use.",
    }.get(True, "")
    if refusal:
        print(refusal, file=sys.stderr)
        raise SystemExit(1)
    if at_start == "hang":
        time.sleep(600)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    threading.Thread(target=cli.listen, daemon=True).start()
    cli.run()


if __name__ == "__main__":
    main()
