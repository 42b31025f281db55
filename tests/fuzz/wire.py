"""Feeds damaged protocol lines to the decoder and the typed views. Exits with 1 if any of them raises an error.

    python tests/fuzz/wire.py [--lines N] [--seed N] [--workers N] [--recordings DIR]

The lines come from recordings. Half of them are unchanged, half are damaged: flipped bytes, missing parts, two lines
joined, renamed or duplicate keys, values of other lines, deep nesting, huge values, invalid UTF-8. Each line is handled
as in a real session: split into chunks at random places, joined to lines, decoded, read as typed views, and encoded
again; every field of a view is read. A campaign of the default length without errors writes its figures to
docs/reliability.md.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec

from handrail.protocol import BadLine, LineSplitter, Message, Request, Success, decode
from handrail.schema import ANSWERS, View, as_json, read_answer, read_message, read_request

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = ROOT / "tests" / "recordings" / "golden"
PAGE = ROOT / "docs" / "reliability.md"
FULL = 10_000_000
BATCH = 200
LEAST_TYPED = 0.2
BATCH_TIMEOUT = 60
MOST_SHOWN = 10
SUBTYPES = tuple(ANSWERS)

KEY = re.compile(rb'"([^"\\]{1,60})":')
VALUE = re.compile(rb'(?<=:)(?:"[^"\\]*"|-?\d[\d.eE+-]*|true|false|null|\[\]|\{\})(?=[,}])')
VALUES = (
    *(b"null", b"true", b"[]", b"{}", b"0", b"-1", b"1.5", b'""', b'"text"', b'[{"type":"text","text":"x"}]', b"[[]]"),
    *(b"1e999", b"-1e999", b"1e-999", b"NaN", b"Infinity", b"-0", b"01", b"1" * 30, b"1" * 400, b"1" * 5000, b"0.1e+1"),
    *(
        b'"\\ud83e"',
        b'"\\udd9c\\ud83e"',
        b'"\\u0000"',
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'"\xf0\x9f\xaa"',
        b'"a\0b"',
        b'"\x01"',
    ),
    *(
        '"\u2028\u2029\u0085"'.encode(),
        "\ufeff".encode(),
        b'"\\x"',
        b'{"a":1,"a":2}',
        b'{"":""}',
        b'{"type":7}',
        b"[null]",
    ),
)
JUNK = (
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\0",
    b"\r",
    b"\\",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\xef\xbb\xbf",
)
DEPTHS = (3, 20, 62, 63, 64, 65, 200, 400, 900, 1100, 5000)


class Seed(NamedTuple):
    """One recorded line, with the positions of its keys and scalar values."""

    line: bytes
    keys: list[tuple[int, int]]
    values: list[tuple[int, int]]


class Corpus:
    """All lines of the recordings."""

    def __init__(self, folder: Path) -> None:
        self.subtypes: dict[bytes, str] = {}
        """The subtype of the request that each answer belongs to, by line. Answers do not contain it."""
        lines = dict.fromkeys(line for path in sorted(folder.glob("*.ndjson")) for line in self._lines(path))
        self.seeds = [Seed(line, _spans(KEY, line), _spans(VALUE, line)) for line in lines]
        self.keys = sorted({line[start:end] for line, keys, _ in self.seeds for start, end in keys})

    def _lines(self, path: Path) -> Iterator[bytes]:
        asked: dict[str, str] = {}
        for row in path.read_text().splitlines():
            entry = json.loads(row)
            if "msg" not in entry:
                continue
            line = entry["msg"].get("__raw__") or json.dumps(entry["msg"], ensure_ascii=False, separators=(",", ":"))
            frame = decode(line.encode())
            if isinstance(frame, Request):
                asked[frame.id] = frame.subtype
            elif isinstance(frame, Success):
                self.subtypes[frame.raw] = asked.get(frame.id, "")
            yield frame.raw


def _spans(pattern: re.Pattern[bytes], line: bytes) -> list[tuple[int, int]]:
    return [match.span(pattern.groups) for match in pattern.finditer(line)]


class Mutator:
    """Damages lines without parsing them, which keeps it fast."""

    def __init__(self, corpus: Corpus, random: Random) -> None:
        self._corpus = corpus
        self._random = random.random

    def _pick(self, items: Any) -> Any:
        return items[int(self._random() * len(items))]

    def _place(self, line: bytes) -> int:
        return int(self._random() * len(line))

    def line(self) -> bytes:
        """The next line. Every other one is unchanged."""
        seed: Seed = self._pick(self._corpus.seeds)
        if self._random() < 0.5:
            return seed.line
        damaged = self._pick(DAMAGE)(self, seed)
        again = damaged and self._random() < 0.1
        return self._pick(DAMAGE)(self, Seed(damaged, [], [])) if again else damaged

    def flip(self, seed: Seed) -> bytes:
        line = bytearray(seed.line)
        for _ in range(1 + int(self._random() * 3)):
            line[self._place(line)] = int(self._random() * 256)
        return bytes(line)

    def cut(self, seed: Seed) -> bytes:
        start, end = sorted((self._place(seed.line), self._place(seed.line)))
        return seed.line[:start] + (seed.line[end:] if self._random() < 0.7 else b"")

    def splice(self, seed: Seed) -> bytes:
        other = self._pick(self._corpus.seeds).line
        return seed.line[: self._place(seed.line)] + other[self._place(other) :]

    def insert(self, seed: Seed) -> bytes:
        place = self._place(seed.line)
        return seed.line[:place] + self._pick(JUNK) + seed.line[place:]

    def rename(self, seed: Seed) -> bytes:
        return self._replace(seed, seed.keys, self._pick(self._corpus.keys))

    def double(self, seed: Seed) -> bytes:
        """Insert another key, which may be a duplicate."""
        return self._replace(seed, seed.keys, self._pick(self._corpus.keys) + b'":' + self._pick(VALUES) + b',"x')

    def swap(self, seed: Seed) -> bytes:
        return self._replace(seed, seed.values, self._pick(VALUES))

    def move(self, seed: Seed) -> bytes:
        """Replace a value by one of another line."""
        other: Seed = self._pick(self._corpus.seeds)
        start, end = self._pick(other.values) if other.values else (0, len(other.line))
        return self._replace(seed, seed.values, other.line[start:end])

    def nest(self, seed: Seed) -> bytes:
        depth = self._pick(DEPTHS)
        opening, closing = self._pick(((b"[", b"]"), (b'{"a":', b"}"), (b'[{"content":', b"}]")))
        return self._replace(seed, seed.values, opening * depth + b"1" + closing * depth)

    def blow_up(self, seed: Seed) -> bytes:
        return self._replace(seed, seed.values, b'"' + self._pick((b"x", rb"\n", "é".encode())) * 5000 + b'"')

    def _replace(self, seed: Seed, spans: list[tuple[int, int]], text: bytes) -> bytes:
        start, end = self._pick(spans) if spans else (self._place(seed.line + b" "),) * 2
        return seed.line[:start] + text + seed.line[end:]


DAMAGE: tuple[Callable[[Mutator, Seed], bytes], ...] = (
    *(Mutator.flip, Mutator.cut, Mutator.splice, Mutator.insert, Mutator.rename, Mutator.double),
    *(Mutator.swap, Mutator.swap, Mutator.swap, Mutator.move, Mutator.move, Mutator.nest, Mutator.blow_up),
)


def read(line: bytes, subtypes: dict[bytes, str], random: Random) -> str:
    """Decode one line, read its views and encode it again. Returns its kind; raises an exception on a failure."""
    frame = decode(line)
    if frame.raw != line:
        raise AssertionError("the frame does not keep the bytes of its line")
    if isinstance(frame, Message):
        view: View = read_message(frame.type, frame.subtype, frame.raw)
    elif isinstance(frame, Request):
        view = read_request(frame.subtype, frame.body)
    elif isinstance(frame, Success):
        view = read_answer(subtypes.get(line) or random.choice(SUBTYPES), frame.body)
    else:
        return "bad line" if isinstance(frame, BadLine) else "frame"
    look_at(view)
    written = as_json(view)
    if not view.opaque:
        msgspec.json.decode(written)
    return "unknown" if view.opaque else "typed"


def look_at(part: msgspec.Struct) -> None:
    """Read every field and property, recursively."""
    for name in parts_of(type(part)):
        value = getattr(part, name)
        for item in value if type(value) is list else (value,):
            if isinstance(item, msgspec.Struct):
                look_at(item)


@cache
def parts_of(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    named = {name for base in kind.__mro__ for name, value in vars(base).items() if _computed(name, value)}
    return (*kind.__struct_fields__, *sorted(named))


def _computed(name: str, value: object) -> bool:
    return not name.startswith("_") and isinstance(value, property | cached_property)


class Outcome(msgspec.Struct):
    """The counts and failures of a part of the campaign."""

    kinds: Counter[str] = msgspec.field(default_factory=Counter[str])
    failures: list[str] = []
    slowest: float = 0.0

    def add(self, other: Outcome) -> None:
        self.kinds += other.kinds
        self.failures = [*self.failures, *other.failures]
        self.slowest = max(self.slowest, other.slowest)


def run_batch(corpus: Corpus, seed: str) -> Outcome:
    """Run BATCH lines. Each batch has its own seed, so that a failure can be reproduced alone."""
    random, outcome = Random(seed), Outcome()
    mutator = Mutator(corpus, random)
    stream = b"\n".join(mutator.line() for _ in range(BATCH)) + b"\n"
    lines = split(stream, random)
    wanted = [line.removesuffix(b"\r") for line in stream.split(b"\n")]
    if lines != [line for line in wanted if line and not line.isspace()]:
        outcome.failures.append(f"seed {seed}: the lines depend on how they were cut")
    for line in lines:
        began = time.thread_time()
        try:
            outcome.kinds[read(line, corpus.subtypes, random)] += 1
        except Exception as error:
            outcome.kinds["failure"] += 1
            outcome.failures.append(f"seed {seed}: {type(error).__name__}: {error}\n    {line!r}")
        outcome.slowest = max(outcome.slowest, time.thread_time() - began)
    return outcome


def split(stream: bytes, random: Random) -> list[bytes | BadLine]:
    splitter, lines, start = LineSplitter(), list[bytes | BadLine](), 0
    while start < len(stream):
        end = start + 1 + int(random.random() ** 3 * 65_536)
        lines += splitter.feed(stream[start:end])
        start = end
    return lines + splitter.finish()


_corpus: Corpus


def prepare(folder: Path) -> None:
    """Set up a worker: read the recordings once, and arm the time limit of a batch."""
    global _corpus
    signal.signal(signal.SIGALRM, _too_slow)
    _corpus = Corpus(folder)


def _too_slow(*_: object) -> None:
    raise TimeoutError(f"a batch took more than {BATCH_TIMEOUT} s")


def work(seed: str) -> Outcome:
    signal.alarm(BATCH_TIMEOUT)
    try:
        return run_batch(_corpus, seed)
    finally:
        signal.alarm(0)


def campaign(lines: int, seed: int, workers: int, folder: Path) -> tuple[Outcome, float]:
    """Run the whole campaign. Returns its results and its duration in seconds."""
    total, began, told = Outcome(), time.monotonic(), 0.0
    seeds = (f"{seed}:{batch}" for batch in range(-(-lines // BATCH)))
    context = multiprocessing.get_context("spawn")
    with context.Pool(workers, prepare, (folder,)) as pool:
        for outcome in pool.imap_unordered(work, seeds, chunksize=20):
            total.add(outcome)
            if len(total.failures) >= MOST_SHOWN:
                break
            if (passed := time.monotonic() - began) - told >= 2:
                told = passed
                done = total.kinds.total()
                print(f"{done:>12,} lines, {done / passed:,.0f} a second, {len(total.failures)} failures", flush=True)
    return total, time.monotonic() - began


def report(outcome: Outcome, seed: int, seconds: float) -> str:
    count = outcome.kinds.total()
    typed, unknown, frames, bad = (
        f"{outcome.kinds[kind] / count:.0%}" for kind in ("typed", "unknown", "frame", "bad line")
    )
    return (
        f"{count:,} lines (seed {seed}) in {seconds / 60:.1f} minutes: {typed} read as a typed view, {unknown} as an "
        f"unknown one, {frames} as a control frame without a view, {bad} refused; {len(outcome.failures)} failures; "
        f"the slowest line took {outcome.slowest * 1000:.0f} ms of CPU"
    )


def write_page(text: str) -> None:
    """Replace the figures on the page."""
    begin, end = "<!-- make fuzz-wire writes from here -->", "<!-- to here -->"
    page = PAGE.read_text()
    if begin not in page:
        page += f"\n## Hostile lines\n\n`make fuzz-wire` throws damaged recordings at the wire.\n\n{begin}\n{end}\n"
    before, rest = page.split(begin)
    figures = f"The last campaign, {datetime.now(UTC):%Y-%m-%d}, version {version('handrail')}: {text}."
    PAGE.write_text(f"{before}{begin}\n{figures}\n{end}{rest.split(end)[1]}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Throw hostile bytes at the wire.")
    parser.add_argument("--lines", type=int, default=FULL)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--recordings", type=Path, default=RECORDINGS)
    chosen = parser.parse_args(arguments)
    if not any(chosen.recordings.glob("*.ndjson")):
        parser.error(f"{chosen.recordings} holds no recordings (*.ndjson)")
    outcome, seconds = campaign(chosen.lines, chosen.seed, chosen.workers, chosen.recordings)
    print(*outcome.failures[:MOST_SHOWN], sep="\n")
    print(text := report(outcome, chosen.seed, seconds))
    if outcome.failures or outcome.kinds["typed"] < LEAST_TYPED * outcome.kinds.total():
        return 1
    if outcome.kinds.total() >= FULL * 0.99:
        write_page(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
