"""The files for containers, services and workflows name options, commands and files that exist."""

from __future__ import annotations

import re

import pytest
import yaml
from typer.main import get_command

from handrail.cli.runner import app as runner
from handrail.cli.serve import app as serve
from tests.architecture.repository import ROOT
from tests.architecture.test_docs import make_targets

OPTIONS = {
    name: {option for parameter in get_command(app).params for option in parameter.opts}
    for name, app in (("serve", serve), ("runner", runner))
}
COMPOSE = sorted((ROOT / "deploy").glob("compose*.yaml"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def unknown(command: list[str]) -> list[str]:
    """The options of a command line without the program that it does not have."""
    name, *rest = command
    return [word for word in rest if word.startswith("--") and word not in OPTIONS[name]]


def test_the_container_starts_with_known_options_as_a_user_without_rights():
    text = (ROOT / "Containerfile").read_text().replace("\\\n", "")
    [default] = re.findall(r"^CMD (\[.*\])$", text, re.MULTILINE)
    assert unknown(yaml.safe_load(default)) == []
    assert re.findall(r"^USER (.*)$", text, re.MULTILINE) == ["handrail"]
    assert "HEALTHCHECK" in text


@pytest.mark.parametrize("path", COMPOSE, ids=lambda path: path.name)
def test_compose_files_use_known_options(path):
    services = yaml.safe_load(path.read_text())["services"]
    commands = [
        service["command"] for service in services.values() if service["image"] == "handrail" and "command" in service
    ]
    assert [unknown(command) for command in commands] == [[]] * len(commands)
    assert all(service["image"] in ("handrail", "nats:2.12") for service in services.values())


def test_the_service_is_the_one_of_the_guide():
    unit = (ROOT / "deploy" / "handrail.service").read_text()
    assert f"```ini\n{unit}```" in (ROOT / "docs" / "guides" / "service.md").read_text()
    [start] = re.findall(r"^ExecStart=\S+/handrail (.*)$", unit, re.MULTILINE)
    assert unknown(start.split()) == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_targets_of_the_makefile(path):
    workflow = yaml.safe_load(path.read_text())
    runs = " ".join(step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"])
    targets = set(re.findall(r"\bmake ([a-z-]+)", runs))
    assert targets
    assert targets - make_targets() == set()
