"""The page is one file that runs nothing but its own script, whatever stands in the recording."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib import resources

from handrail.cli.inspect_page import page_of
from handrail.cli.inspect_report import report_of
from handrail.transport.recording_file import End, Header, Recording, Row, read_recording

ATTACK = "</pre></details><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u202e\x00"


class Seen(HTMLParser):
    """The elements of a page with their attributes, and the text inside `style` and `script`."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, str] = {}
        self._open = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open = tag

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open in ("style", "script"):
            self.inside[self._open] = self.inside.get(self._open, "") + data


def hostile_page() -> str:
    line = json.dumps({"type": ATTACK, "message": ATTACK}, ensure_ascii=False)
    request = {"type": "control_request", "request_id": ATTACK, "request": {"subtype": ATTACK, "x": ATTACK}}
    user = {"type": "user", "message": {"content": ATTACK}}
    rows = [
        Row(0, "out", line.encode()),
        Row(1, "in", json.dumps(request).encode()),
        Row(2, "in", json.dumps(user).encode()),
        Row(3, "err", ATTACK.encode()),
        Row(4, "out", b"\xff" + ATTACK.encode()),
    ]
    recording = Recording(header=Header(argv=(ATTACK,), started=ATTACK), rows=rows, end=End(5, None, ATTACK))
    return page_of(report_of(recording), title=ATTACK)


def test_nothing_of_a_recording_becomes_markup():
    seen = Seen(hostile_page())
    tags = [tag for tag, _ in seen.elements]
    assert (tags.count("script"), tags.count("style"), tags.count("img")) == (1, 1, 0)
    handlers = [name for _, attributes in seen.elements for name in attributes if name.startswith("on")]
    assert handlers == []
    assert "\x00" not in hostile_page()
    assert "\u202e" not in hostile_page()


def test_the_policy_allows_the_pages_own_style_and_script_and_nothing_else():
    seen = Seen(hostile_page())
    policy = next(a["content"] or "" for tag, a in seen.elements if a.get("http-equiv") == "Content-Security-Policy")
    hashes = {
        tag: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for tag, text in seen.inside.items()
    }
    assert policy.split("; ") == [
        "default-src 'none'",
        f"style-src 'sha256-{hashes['style']}'",
        f"script-src 'sha256-{hashes['script']}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]


def test_the_page_needs_nothing_from_outside_and_no_inline_style():
    page = hostile_page()
    seen = Seen(page)
    assert [a for _, a in seen.elements if {"src", "href", "style"} & set(a)] == []
    assert re.findall(r"@import|url\(|https?://", page) == []


def test_the_page_shows_every_line_turn_and_pair():
    recording = read_recording(str(resources.files("handrail.cli").joinpath("tour.ndjson")))
    report = report_of(recording)
    page = page_of(report, title="tour.ndjson")
    seen = Seen(page)
    rows = [a for tag, a in seen.elements if tag == "details"]
    assert len(rows) == len(report.entries) == len(recording.rows)
    assert page.count("<tr>") == 2 + len(report.turns) + len(report.pairs)
    assert {a["data-dir"] for a in rows} == {"in", "out"}


def test_an_empty_recording_has_a_page_too():
    assert "0 lines" in page_of(report_of(Recording()), title="empty")
