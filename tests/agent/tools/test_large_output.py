"""Output that is too large."""

from pathlib import Path

from handrail.agent.tools.large_output import Output, fitted, readable_size
from tests.agent.tools.workplace import desk_in


def test_sizes_are_readable():
    assert [readable_size(size) for size in (5, 2048, 228894, 10 * 1024**2)] == ["5 bytes", "2KB", "223.5KB", "10MB"]


def test_a_text_that_fits_stays_as_it_is(tmp_path: Path):
    assert fitted("abc", desk_in(tmp_path), 3) == "abc"
    assert not (tmp_path / "results").exists()


def test_without_a_folder_the_text_is_cut(tmp_path: Path):
    assert fitted("abcdef", desk_in(tmp_path, results_folder=""), 4) == "abcd\n\n… [2 more characters are not shown]"


def test_a_folder_that_cannot_be_made_loses_only_the_rest(tmp_path: Path):
    (tmp_path / "file").touch()
    output = Output(4, str(tmp_path / "file" / "results"))
    output.take(b"x" * 100)
    assert (output.text, output.is_cut, output.path, output.size) == ("xxxx", True, "", 100)


def test_all_of_it_is_given_on_from_memory_or_from_the_file(tmp_path: Path):
    small, large = Output(10, str(tmp_path)), Output(10, str(tmp_path))
    small.take(b"abc")
    for _ in range(50):
        large.take(b"abc")
    assert b"".join(small.parts()) == b"abc"
    assert b"".join(large.parts()) == b"abc" * 50
