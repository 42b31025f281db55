"""A session as clients are shown it."""

from __future__ import annotations

import json

from handrail.bridge.session.session_lines import session_item, session_line, title_of
from handrail.bridge.store.index_base import SessionRecord

RECORD = SessionRecord(
    id="one", cwd="/home/me/secret", created=1, changed=2, error="/home/me: no", options={"granted": [{}]}, settled=9
)


def test_what_is_for_the_server_alone_is_not_shown():
    item = json.loads(session_item(RECORD))["session"]
    assert (item["id"], item["cwd"], item["lapsed"]) == ("one", "/home/me/secret", [])
    assert not {"options", "rules", "settled"} & set(item)


def test_who_may_only_look_is_not_told_where_it_works():
    line = session_line(RECORD, paths=False)
    assert (line.cwd, line.error) == ("secret", "failed")
    assert session_line(SessionRecord(id="x", cwd="/w", created=1, changed=1), paths=False).error == ""


def test_a_title_is_one_line_of_the_first_words():
    assert title_of("  Mend \n the\tharbour ") == "Mend the harbour"
    assert title_of("word " * 100) == ("word " * 100)[:80]
    assert title_of(" \n") == ""
