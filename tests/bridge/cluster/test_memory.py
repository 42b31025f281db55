"""What a machine has to offer."""

from __future__ import annotations

from pathlib import Path

from handrail.bridge.cluster.memory import free_memory


def test_free_memory_is_what_the_system_says(tmp_path: Path):
    told = tmp_path / "meminfo"
    told.write_text("MemTotal:       16000000 kB\nMemFree:  1 kB\nMemAvailable:    2048 kB\n")
    assert free_memory(told) == 2048 * 1024


def test_a_system_that_does_not_tell_has_none(tmp_path: Path):
    assert free_memory(tmp_path / "none") == 0
    (tmp_path / "other").write_text("Something else\n")
    assert free_memory(tmp_path / "other") == 0
