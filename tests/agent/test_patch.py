"""Unified-diff hunks."""

from handrail.agent.patch import structured_patch


def test_changed_line_has_context():
    assert structured_patch("Hello\nWorld\nline 3\n", "Hello\nMars\nline 3\n") == [
        {
            "oldStart": 1,
            "oldLines": 3,
            "newStart": 1,
            "newLines": 3,
            "lines": [" Hello", "-World", "+Mars", " line 3"],
        }
    ]


def test_distant_changes_are_separate_hunks():
    old = [f"{number}\n" for number in range(30)]
    new = [*old]
    new[5], new[25] = "five\n", "twenty-five\n"
    first, second = structured_patch("".join(old), "".join(new))
    assert first["lines"] == [" 2", " 3", " 4", "-5", "+five", " 6", " 7", " 8"]
    assert (second["oldStart"], second["oldLines"], second["newStart"]) == (23, 7, 23)


def test_equal_texts_have_no_hunks():
    assert structured_patch("a\n", "a\n") == []


def test_missing_newline_at_the_end_is_marked():
    (hunk,) = structured_patch("a\n", "b")
    assert hunk["lines"] == ["-a", "+b", "\\ No newline at end of file"]


def test_hunk_of_an_empty_text_starts_at_line_1():
    assert structured_patch("", "a\n") == [
        {"oldStart": 1, "oldLines": 0, "newStart": 1, "newLines": 1, "lines": ["+a"]}
    ]


def test_change_in_a_very_long_text_is_one_hunk():
    old = [f"{number}\n" for number in range(30_000)]
    new = [*old[:100], "x\n", *old[101:]]
    (hunk,) = structured_patch("".join(old), "".join(new))
    assert hunk["lines"] == [" 97", " 98", " 99", "-100", "+x", " 101", " 102", " 103"]
    assert hunk["oldStart"] == 98
