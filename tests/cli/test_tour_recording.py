"""The recording that the tour plays shows what it should, and nothing of the machine it was made on."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

from handrail.cli.inspect_report import report_of
from handrail.transport.recording_file import read_recording

TOUR = Path(str(resources.files("handrail.cli").joinpath("tour.ndjson")))


def test_it_is_whole_and_small():
    report = report_of(read_recording(TOUR))
    assert TOUR.stat().st_size < 60_000
    assert (report.totals.ending, report.totals.bad, report.totals.unknown) == ("exit code 0", 0, {})


def test_it_shows_thinking_text_tools_questions_and_a_cost():
    report = report_of(read_recording(TOUR))
    (turn,) = report.turns
    summaries = "\n".join(entry.summary for entry in report.entries if entry.type in ("assistant", "stream_event"))
    assert [word for word in ("thinking_delta", "text_delta", "Read {", "Edit {", "Bash {") if word in summaries] == [
        "thinking_delta",
        "text_delta",
        "Read {",
        "Edit {",
        "Bash {",
    ]
    assert [pair.subtype for pair in report.pairs] == ["initialize", "can_use_tool", "can_use_tool"]
    assert (turn.outcome, turn.tools, turn.cost is not None and turn.cost > 0) == ("success", 3, True)


def test_it_names_no_place_but_an_invented_one():
    paths = set(re.findall(r"(?<![\w.<])(/(?:[\w.-]+/)+[\w.-]*)", TOUR.read_text()))
    assert sorted(path for path in paths if not path.startswith(("/home/you/", "/tmp/cc-socks/"))) == []
