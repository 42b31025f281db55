"""handrail.agent.models.load_script: a script from a file."""

from pathlib import Path

import pytest

from handrail.agent.models.load_script import load_script
from handrail.agent.models.script import Script, ScriptError, text


def test_a_file_becomes_a_script(tmp_path: Path):
    path = tmp_path / "script.json"
    path.write_text('{"replies": [{"blocks": [{"type": "text", "text": "Grüße"}]}]}', encoding="utf-8")
    assert load_script(path) == Script.of(text("Grüße"))


def test_an_error_in_a_file_names_the_file(tmp_path: Path):
    path = tmp_path / "script.json"
    path.write_text('{"replies": [{"blocks": [{"type": "txt"}]}]}')
    with pytest.raises(ScriptError, match=r'^script\.json: replies\[0\]\.blocks\[0\]: unknown block type "txt"'):
        load_script(path)


def test_a_missing_file_and_a_folder_are_errors_of_the_script(tmp_path: Path):
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(ScriptError, match="cannot be read"):
            load_script(path)
