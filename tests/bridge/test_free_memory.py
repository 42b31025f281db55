"""The free memory of the machine."""

from __future__ import annotations

from pathlib import Path

from handrail.bridge.process_memory import free_memory


def test_available_memory_is_read_from_meminfo(tmp_path: Path):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:       16000000 kB\nMemFree:  1 kB\nMemAvailable:    2048 kB\n")
    assert free_memory(meminfo) == 2048 * 1024


def test_missing_or_unknown_meminfo_means_zero(tmp_path: Path):
    assert free_memory(tmp_path / "none") == 0
    (tmp_path / "other").write_text("Something else\n")
    assert free_memory(tmp_path / "other") == 0
