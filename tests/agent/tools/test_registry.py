"""All tools."""

import subprocess
import sys

from handrail.agent.tools.registry import all_tools, default_tools


def test_every_tool_has_its_name_a_description_and_a_schema_of_an_object():
    for name, tool in all_tools().items():
        assert tool.name == name
        assert 20 < len(tool.description) < 400
        assert tool.schema()["type"] == "object"


def test_the_names_of_fields_are_those_of_the_wire():
    tools = all_tools()
    assert set(tools["Grep"].schema()["properties"]) >= {"pattern", "output_mode", "-A", "-B", "-C", "-n", "-i"}
    assert tools["TaskUpdate"].schema()["required"] == ["taskId"]
    assert tools["Bash"].schema()["required"] == ["command"]
    assert "dangerouslyDisableSandbox" in tools["Bash"].schema()["properties"]


def test_searching_has_its_own_tools_only_without_a_shell():
    assert not {"Glob", "Grep"} & set(default_tools("claude-opus-5-5"))
    without = default_tools("claude-opus-5-5", disallowed=["Bash", "Write"])
    assert {"Glob", "Grep"} <= set(without)
    assert not {"Bash", "Write"} & set(without)


def test_older_models_are_given_a_list_of_tasks():
    assert "TaskCreate" in default_tools("claude-sonnet-4-5")
    assert "TaskCreate" in default_tools("claude-3-5-haiku-20241022")
    assert "TaskCreate" not in default_tools("claude-sonnet-5-5")
    assert "TaskCreate" not in default_tools("some-model")


def test_nothing_heavy_is_imported_with_the_tools():
    code = (
        "import sys; from handrail.agent.tools.registry import all_tools; dict(all_tools()); "
        "print([name for name in ('httpx2', 'mcp', 'rich', 'typer', 'tree_sitter') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
