"""The registry of tools."""

import subprocess
import sys

from handrail.agent.tools.registry import Tools, default_tools


def test_every_tool_has_a_name_a_description_and_an_object_schema():
    for name, tool in Tools().items():
        assert tool.name == name
        assert 100 < len(tool.description) < 1600
        assert tool.schema()["type"] == "object"


def test_schemas_use_wire_names():
    tools = Tools()
    assert set(tools["Grep"].schema()["properties"]) >= {"pattern", "output_mode", "-A", "-B", "-C", "-n", "-i"}
    assert tools["TaskUpdate"].schema()["required"] == ["taskId"]
    assert tools["Bash"].schema()["required"] == ["command"]
    assert "dangerouslyDisableSandbox" in tools["Bash"].schema()["properties"]


def test_search_tools_are_offered_only_without_bash():
    assert not {"Glob", "Grep"} & set(default_tools("claude-opus-5-5"))
    without = default_tools("claude-opus-5-5", disallowed=["Bash", "Write"])
    assert {"Glob", "Grep"} <= set(without)
    assert not {"Bash", "Write"} & set(without)


def test_task_tools_are_offered_to_older_models():
    assert "TaskCreate" in default_tools("claude-sonnet-4-5")
    assert "TaskCreate" in default_tools("claude-3-5-haiku-20241022")
    assert "TaskCreate" not in default_tools("claude-sonnet-5-5")
    assert "TaskCreate" not in default_tools("some-model")


def test_tools_import_no_heavy_packages():
    code = (
        "import sys; from handrail.agent.tools.registry import Tools; dict(Tools()); "
        "print([name for name in ('httpx2', 'mcp', 'rich', 'typer', 'tree_sitter') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
