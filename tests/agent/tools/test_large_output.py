"""Output too large for the conversation."""

from pathlib import Path

from handrail.agent.tools.large_output import Output, fitted, readable_size
from tests.agent.tools.workplace import desk_in


def test_sizes_are_readable():
    assert [readable_size(size) for size in (5, 2048, 228894, 10 * 1024**2)] == ["5 bytes", "2KB", "223.5KB", "10MB"]


def test_text_that_fits_is_unchanged(tmp_path: Path):
    assert fitted("abc", desk_in(tmp_path), 3) == "abc"
    assert not (tmp_path / "results").exists()


def test_text_is_truncated_without_a_folder(tmp_path: Path):
    assert fitted("abcdef", desk_in(tmp_path, results_folder=""), 4) == "abcd\n\n… [2 more characters are not shown]"


def test_failure_to_create_the_folder_keeps_the_beginning(tmp_path: Path):
    (tmp_path / "file").touch()
    output = Output(4, str(tmp_path / "file" / "results"))
    output.write(b"x" * 100)
    assert (output.text, output.is_truncated, output.path, output.size) == ("xxxx", True, "", 100)


def test_parts_come_from_memory_or_from_the_file(tmp_path: Path):
    small, large = Output(10, str(tmp_path)), Output(10, str(tmp_path))
    small.write(b"abc")
    for _ in range(50):
        large.write(b"abc")
    assert b"".join(small.parts()) == b"abc"
    assert b"".join(large.parts()) == b"abc" * 50


def test_tail_is_the_newest_output(tmp_path: Path):
    output = Output(10, str(tmp_path))
    for number in range(5_000):
        output.write(f"line {number}\n".encode())
    output.close()
    assert output.tail.endswith("line 4998\nline 4999\n")
    assert len(output.tail) <= 8 * 1024
