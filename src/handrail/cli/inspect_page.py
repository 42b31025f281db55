"""A recording as one self-contained page.

Everything that comes from the recording is escaped, and the page's policy allows exactly one style sheet and one
script, by their hashes: so that injected markup could still run nothing.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Iterator
from importlib import resources

from handrail.cli.inspect_report import Entry, Pair, Report, Turn
from handrail.cli.printable import as_json_escapes

__all__ = ["page_of"]

ARROWS = {"in": "→", "out": "←", "err": "!"}
BAR = 110

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p class="argv"><code>{argv}</code></p>
<dl class="cards">{cards}</dl>
</header>
<main>
{turns}
{pairs}
<h2>Lines</h2>
<div class="tools">
<input type="search" id="search" placeholder="Filter: tool name, text, id …  ( / )" aria-label="Filter the lines">
<label><input type="checkbox" name="in" checked><span class="client">→ to the CLI</span></label>
<label><input type="checkbox" name="out" checked><span class="CLI">← from the CLI</span></label>
<label><input type="checkbox" name="err" checked>! stderr</label>
<label><input type="checkbox" name="stream" checked>stream events</label>
<label><input type="checkbox" name="problems">only bad or unknown</label>
<output id="shown">{count} lines</output>
</div>
<div class="rows">
{rows}
</div>
<footer>Written by handrail inspect. Secrets of known forms were masked when this was recorded.</footer>
</main>
<script>{script}</script>
</body>
</html>
"""


def page_of(report: Report, *, title: str) -> str:
    """The page as HTML."""
    style, script = (_part(name) for name in ("inspect_page.css", "inspect_page.js"))
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    return PAGE.format(
        policy=policy,
        title=_escape(title),
        style=style,
        script=script,
        argv=_escape(" ".join(report.argv) or "–"),
        cards="".join(_cards(report)),
        turns=_turns(report.turns),
        pairs=_pairs(report.pairs),
        count=len(report.entries),
        rows="\n".join(map(_row, report.entries)),
    )


def _part(name: str) -> str:
    return resources.files("handrail.cli").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _escape(text: object) -> str:
    return html.escape(as_json_escapes(str(text)))


def _cards(report: Report) -> Iterator[str]:
    totals = report.totals
    unknown = sum(totals.unknown.values())
    clean = totals.ending == "exit code 0"
    facts: list[tuple[str, str, bool]] = [
        ("started", report.started.partition(".")[0].replace("T", " ") or "–", False),
        ("duration", _seconds(totals.seconds), False),
        ("ended", totals.ending, not clean),
        ("turns", str(totals.turns), False),
        ("cost", f"${totals.cost:.4f}", False),
        ("lines", f"{totals.lines.get('in', 0)} → · {totals.lines.get('out', 0)} ←", False),
        ("bytes", f"{_size(totals.bytes.get('in', 0))} → · {_size(totals.bytes.get('out', 0))} ←", False),
        ("requests", str(totals.requests), False),
        ("unanswered", str(totals.unanswered), totals.unanswered > 0),
        ("median latency", _seconds(totals.median_latency), False),
        ("bad lines", str(totals.bad), totals.bad > 0),
        ("unknown kinds", str(unknown), unknown > 0),
    ]
    for name, value, problem in facts:
        yield f"<div{_class('problem' if problem else '')}><dt>{name}</dt><dd>{_escape(value)}</dd></div>"


def _turns(turns: list[Turn]) -> str:
    if not turns:
        return ""
    longest = max((turn.seconds or 0 for turn in turns), default=0)
    rows = [
        f'<tr><td class="number">{turn.number}</td><td class="words">{_escape(turn.prompt)}</td>'
        f'<td class="number">{turn.began:.3f}</td><td class="number">{_seconds(turn.first)}</td>'
        f'<td class="bar">{_bar(turn.seconds, longest)}</td>'
        f'<td class="number">{"–" if turn.cost is None else f"${turn.cost:.4f}"}</td>'
        f'<td class="number">{"–" if turn.output_tokens is None else turn.output_tokens}</td>'
        f'<td class="number">{turn.tools}</td>'
        f"<td{_class('' if turn.outcome == 'success' else 'failed')}>{_escape(turn.outcome)}</td></tr>"
        for turn in turns
    ]
    head = ("#turn", "prompt", "#at", "#first word", "took", "#cost", "#output tokens", "#tools", "outcome")
    return _table("Turns", head, rows)


def _pairs(pairs: list[Pair]) -> str:
    if not pairs:
        return ""
    slowest = max((pair.latency or 0 for pair in pairs), default=0)
    rows = [
        f'<tr><td class="number">{pair.asked:.3f}</td><td{_class(pair.by)}>{pair.by}</td>'
        f"<td><code>{_escape(pair.subtype)}</code></td>"
        f'<td class="words">{_escape(pair.about)}</td><td{_class(pair.outcome)}>{pair.outcome}</td>'
        f'<td class="bar">{_bar(pair.latency, slowest)}</td></tr>'
        for pair in pairs
    ]
    return _table("Requests and answers", ("#at", "asked by", "request", "about", "outcome", "latency"), rows)


def _table(title: str, head: Iterable[str], rows: Iterable[str]) -> str:
    """A heading that begins with # is for a column of numbers."""
    cells = "".join(f"<th{_class('number' if name[0] == '#' else '')}>{name.lstrip('#')}</th>" for name in head)
    return f'<h2>{title}</h2>\n<div class="scroll"><table><tr>{cells}</tr>\n' + "\n".join(rows) + "\n</table></div>"


def _bar(value: float | None, most: float) -> str:
    if value is None:
        return "–"
    width = max(1, round(BAR * value / most)) if most else 1
    return (
        f'<svg width="{width}" height="8" aria-hidden="true"><rect width="{width}" height="8"/></svg> {_seconds(value)}'
    )


def _row(entry: Entry) -> str:
    late = "" if entry.latency is None else f'<span class="late">{_seconds(entry.latency)}</span>'
    mark = f'<span class="mark">{entry.flag}</span>' if entry.flag else ""
    raw = entry.row.data.decode("utf-8", "replace") if entry.row else ""
    return (
        f'<details class="row {entry.dir}{" flagged" if entry.flag else ""}" data-dir="{entry.dir}" '
        f'data-type="{_escape(entry.type)}"><summary><span class="t">{entry.t:.3f}</span>'
        f'<span class="way">{ARROWS[entry.dir]}</span><span class="kind">{_escape(entry.kind)}</span>'
        f'<span class="said">{_escape(entry.summary)}</span><span>{mark} {late}</span></summary>'
        f"<pre>{_escape(raw)}</pre></details>"
    )


def _class(name: str) -> str:
    return f' class="{_escape(name)}"' if name else ""


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.2f} s"


def _size(count: int) -> str:
    return f"{count} B" if count < 10_000 else f"{count / 1000:.0f} kB"
