"""Converts the HTML of web pages to text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final

__all__ = ["html_to_text"]

_HIDDEN_TAGS: Final = frozenset("script style noscript template svg iframe object canvas select".split())
_BLOCK_TAGS: Final = frozenset(
    "address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header "
    "hr li main nav ol p pre section table tbody thead title tr ul".split()
)
_MARKDOWN: Final = {**{f"h{level}": "#" * level + " " for level in range(1, 7)}, "li": "- ", "title": "# ", "hr": "---"}
_MAX_HTML: Final = 4_000_000


def html_to_text(html: str) -> str:
    """Convert HTML to text with Markdown headings, lists, links and code. Very long input is truncated."""
    reader = _HtmlReader()
    reader.feed(html[:_MAX_HTML])
    reader.close()
    return reader.text()


class _HtmlReader(HTMLParser):
    """Collects the visible text of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._hidden = ""
        self._depth = 0
        self._pre = 0
        self._links: list[tuple[str, int]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._hidden:
            self._depth += tag == self._hidden
        elif tag in _HIDDEN_TAGS:
            self._hidden, self._depth = tag, 1
        elif tag == "a":
            self._links.append((dict(attrs).get("href") or "", len(self._parts)))
        elif tag == "img":
            self._parts.append(f" {dict(attrs).get('alt') or ''} ")
        elif tag in ("td", "th"):
            self._parts.append(" | ")
        elif tag in _BLOCK_TAGS:
            self._pre += tag == "pre"
            self._parts.append("\n" + ("```\n" if tag == "pre" else _MARKDOWN.get(tag, "")))

    def handle_endtag(self, tag: str) -> None:
        if self._hidden:
            self._depth -= tag == self._hidden
            if not self._depth:
                self._hidden = ""
        elif tag == "a" and self._links:
            self._close_link(*self._links.pop())
        elif tag in _BLOCK_TAGS:
            ends_code = tag == "pre" and self._pre > 0
            self._pre -= ends_code
            self._parts.append("\n```\n" if ends_code else "\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._parts.append(data if self._pre else re.sub(r"\s+", " ", data))

    def _close_link(self, address: str, since: int) -> None:
        words = "".join(self._parts[since:]).strip()
        if words and "\n" not in words and address.startswith(("http:", "https:", "/")):
            del self._parts[since:]
            self._parts.append(f"[{words}]({address})")

    def text(self) -> str:
        """The text collected so far, with at most one blank line in a row."""
        lines = [line.rstrip() for line in "".join(self._parts).split("\n")]
        plain = "\n".join(line if line.startswith("    ") else line.strip() for line in lines)
        return re.sub(r"\n{3,}", "\n\n", plain).strip()
