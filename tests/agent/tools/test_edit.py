"""The Edit tool."""

import os
from pathlib import Path

import pytest

from tests.agent.tools.workplace import bytes_in, call, desk_in, fill, text_in


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    path = tmp_path / "project" / "w.txt"
    path.write_text("Hello\nWorld\nline 3\n")
    return path


async def test_unique_text_is_replaced(tmp_path: Path, path: Path):
    desk = desk_in(tmp_path)
    await call(desk, "Read", file_path=str(path))
    outcome = await call(desk, "Edit", file_path=str(path), old_string="World", new_string="Mars")
    assert text_in(path) == "Hello\nMars\nline 3\n"
    assert outcome.content == (
        f"The file {path} has been updated successfully. "
        "(file state is current in your context — no need to Read it back)"
    )
    lines = [" Hello", "-World", "+Mars", " line 3"]
    assert outcome.detail == {
        "filePath": str(path),
        "oldString": "World",
        "newString": "Mars",
        "originalFile": "Hello\nWorld\nline 3\n",
        "structuredPatch": [{"oldStart": 1, "oldLines": 3, "newStart": 1, "newLines": 3, "lines": lines}],
        "userModified": False,
        "replaceAll": False,
    }


async def test_unread_file_in_the_project_can_be_edited_and_stays_unread(tmp_path: Path, path: Path):
    desk = desk_in(tmp_path)
    outcome = await call(desk, "Edit", file_path=str(path), old_string="World", new_string="Mars")
    assert outcome.content == f"The file {path} has been updated successfully."
    assert outcome.detail["contentNotInModelContext"] is True
    assert str(path) not in desk.seen


async def test_unread_file_outside_the_project_is_refused(tmp_path: Path, path: Path):
    (tmp_path / "out").write_text("World")
    outcome = await call(desk_in(tmp_path), "Edit", file_path=str(tmp_path / "out"), old_string="World", new_string="")
    assert "has not been read yet" in outcome.content


async def test_file_changed_since_read_is_edited_where_the_text_is_unique(tmp_path: Path, path: Path):
    desk = desk_in(tmp_path)
    await call(desk, "Read", file_path=str(path))
    await call(desk, "Bash", command="echo more >> w.txt")
    outcome = await call(desk, "Edit", file_path=str(path), old_string="World", new_string="Mars")
    assert text_in(path) == "Hello\nMars\nline 3\nmore\n"
    assert "changed on disk" in outcome.content
    assert outcome.detail["staleRecovered"] is outcome.detail["contentNotInModelContext"] is True
    assert str(path) not in desk.seen, "the model has still not seen the other change"
    again = await call(desk, "Edit", file_path=str(path), old_string="Mars", new_string="Venus")
    assert again.content == f"The file {path} has been updated successfully."


@pytest.mark.parametrize("old", ["World", "l", "Nope"])
async def test_file_changed_since_read_is_refused_unless_the_text_is_unique(tmp_path: Path, path: Path, old: str):
    desk = desk_in(tmp_path)
    await call(desk, "Read", file_path=str(path))
    fill(path, "Hello\nlater\n")
    outcome = await call(desk, "Edit", file_path=str(path), old_string=old, new_string="x")
    assert "modified since read" in outcome.content
    assert text_in(path) == "Hello\nlater\n"


async def test_changed_file_is_edited_everywhere_with_replace_all(tmp_path: Path, path: Path):
    desk = desk_in(tmp_path)
    await call(desk, "Read", file_path=str(path))
    fill(path, "l and l, longer\n")
    outcome = await call(desk, "Edit", file_path=str(path), old_string="l", new_string="L", replace_all=True)
    assert outcome.detail["staleRecovered"] is True
    assert text_in(path) == "L and L, Longer\n"


async def test_changed_file_outside_the_project_is_refused(tmp_path: Path):
    outside = tmp_path / "out"
    fill(outside, "World")
    desk = desk_in(tmp_path)
    await call(desk, "Read", file_path=str(outside))
    fill(outside, "World, longer")
    outcome = await call(desk, "Edit", file_path=str(outside), old_string="World", new_string="x")
    assert "modified since read" in outcome.content


@pytest.mark.parametrize("tool", ["Edit", "Write"])
async def test_file_written_again_with_the_same_bytes_counts_as_read(tmp_path: Path, path: Path, tool: str):
    desk = desk_in(tmp_path)
    await call(desk, "Read", file_path=str(path))
    os.utime(path, (1, 1))
    given = {"old_string": "World", "new_string": "Mars"} if tool == "Edit" else {"content": "Mars"}
    outcome = await call(desk, tool, file_path=str(path), **given)
    assert "state is current" in outcome.content


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("He said “hello”, it’s ok", '"hello", it\'s', '"hi", it isn\'t', "He said “hi”, it isn’t ok"),
        ('say("bye") # it\'s', "(“bye”) # it’s", "(“ciao”) # it’s", 'say("ciao") # it\'s'),
        ("‘a’ b", "'a'", "'c' \"d\"", '‘c’ "d" b'),
        ("“a” and ‘b’", "\"a\" and 'b'", '"\'a\'" ["b"] —"c"', "“‘a’” [“b”] —“c”"),
        ("it’s so", "'s so", "'ll do", "it’ll do"),
    ],
)
async def test_quotes_of_the_file_are_matched_and_kept(
    tmp_path: Path, path: Path, text: str, old: str, new: str, after: str
):
    fill(path, text)
    desk = desk_in(tmp_path)
    outcome = await call(desk, "Edit", file_path=str(path), old_string=old, new_string=new)
    assert text_in(path) == after
    assert outcome.detail["oldString"] in text
    assert outcome.detail["newString"] == new


async def test_text_that_differs_in_quotes_must_be_unique_too(tmp_path: Path, path: Path):
    fill(path, "“q” one\n„q” two\n“q“ three\n")
    desk = desk_in(tmp_path)
    outcome = await call(desk, "Edit", file_path=str(path), old_string='"q"', new_string='"r"')
    assert "Found 2 matches" in outcome.content
    await call(desk, "Edit", file_path=str(path), old_string='"q"', new_string='"r"', replace_all=True)
    assert text_in(path) == "“r” one\n„q” two\n“r” three\n"


async def test_exact_match_is_preferred_to_one_with_other_quotes(tmp_path: Path, path: Path):
    fill(path, '“q” and "q"')
    await call(desk_in(tmp_path), "Edit", file_path=str(path), old_string='"q"', new_string='"r"')
    assert text_in(path) == '“q” and "r"'


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Nope", "x", "String to replace not found in file.\nString: Nope"),
        ("l", "x", "Found 4 matches of the string to replace, but replace_all is false."),
        ("World", "World", "No changes to make: old_string and new_string are exactly the same."),
        ("", "x", "Cannot create new file - file already exists."),
    ],
)
async def test_impossible_replacements_are_explained(tmp_path: Path, path: Path, old: str, new: str, words: str):
    outcome = await call(desk_in(tmp_path), "Edit", file_path=str(path), old_string=old, new_string=new)
    assert outcome.is_error
    assert outcome.content.startswith(f"<tool_use_error>{words}")
    assert outcome.detail.startswith(f"Error: {words}")
    assert text_in(path) == "Hello\nWorld\nline 3\n"


async def test_replace_all_replaces_every_occurrence(tmp_path: Path, path: Path):
    outcome = await call(
        desk_in(tmp_path), "Edit", file_path=str(path), old_string="l", new_string="L", replace_all=True
    )
    assert text_in(path) == "HeLLo\nWorLd\nLine 3\n"
    assert "All occurrences were successfully replaced." in outcome.content
    assert outcome.detail["replaceAll"] is True


async def test_empty_old_string_creates_a_file(tmp_path: Path):
    desk = desk_in(tmp_path)
    outcome = await call(desk, "Edit", file_path="new.txt", old_string="", new_string="fresh\n")
    assert (tmp_path / "project" / "new.txt").read_text() == "fresh\n"
    assert outcome.detail["originalFile"] == ""
    assert "does not exist" in (await call(desk, "Edit", file_path="no", old_string="a", new_string="b")).content


async def test_crlf_is_matched_and_preserved(tmp_path: Path, path: Path):
    fill(path, b"a\r\nb\r\nc\r\n")
    outcome = await call(desk_in(tmp_path), "Edit", file_path=str(path), old_string="a\nb", new_string="1\n2\n3")
    assert bytes_in(path) == b"1\r\n2\r\n3\r\nc\r\n"
    assert outcome.detail["originalFile"] == "a\nb\nc\n"


async def test_mixed_line_ends_and_invalid_utf8_are_preserved(tmp_path: Path, path: Path):
    fill(path, b"a\r\nb\ncaf\xe9\n")
    await call(desk_in(tmp_path), "Edit", file_path=str(path), old_string="b", new_string="B")
    assert bytes_in(path) == b"a\r\nB\ncaf\xe9\n"


async def test_notebooks_need_the_notebook_tool(tmp_path: Path):
    desk = desk_in(tmp_path)
    (tmp_path / "project" / "n.ipynb").write_text("{}")
    assert "NotebookEdit" in (await call(desk, "Edit", file_path="n.ipynb", old_string="{", new_string="[")).content


@pytest.mark.parametrize(
    ("before", "old", "after"),
    [
        ("one\ntwo\nthree\n", "two", "one\nthree\n"),
        ("one\ntwo\nthree\n", "two\n", "one\nthree\n"),
        ("one two three\n", "two ", "one three\n"),
        ("one  # two\nthree\n", "  # two", "one\nthree\n"),
        ("one\ntwo", "two", "one\n"),
        ("one\r\ntwo\r\nthree\r\n", "two", "one\r\nthree\r\n"),
    ],
)
async def test_a_deleted_line_leaves_no_empty_one(tmp_path: Path, path: Path, before: str, old: str, after: str):
    fill(path, before.encode())
    desk = desk_in(tmp_path)
    await call(desk, "Read", file_path=str(path))
    await call(desk, "Edit", file_path=str(path), old_string=old, new_string="")
    assert bytes_in(path).decode() == after
