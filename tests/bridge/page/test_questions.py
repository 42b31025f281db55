"""The cards of the plain page, run by Node with a document of a few lines: what they show, what their buttons say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from handrail.bridge import page

NODE = Path(sys.executable).with_name("node")
FOLDER = Path(page.__file__).parent
PROGRAM = """
const ids = {};
class Element {
  constructor(tag) { Object.assign(this, { tag, children: [], className: "", textContent: "", value: "" }); }
  append(...more) { this.children.push(...more); }
  setAttribute() {}
  remove() {}
  all() { return [this, ...this.children.flatMap((one) => (one.all ? one.all() : [one]))]; }
}
const getElementById = (id) => (ids[id] ??= new Element(id));
globalThis.document = { createElement: (tag) => new Element(tag), getElementById };
const { ask } = await import("./questions.js");
const { asked, press, choose } = JSON.parse(process.argv[1]);
let said = null;
ask(asked, (fields) => { said = fields; });
const all = ids.questions.children[0].all();
for (const one of all) if (choose?.includes(one.value)) one.checked = true;
const buttons = all.filter((one) => one.tag === "button");
const armed = buttons.filter((one) => !one.disabled).map((one) => one.textContent);
buttons.find((one) => one.textContent === press)?.onclick();
const texts = all.map((one) => one.textContent ?? one).filter(Boolean);
console.log(JSON.stringify({ said, armed, buttons: buttons.map((one) => one.textContent), texts }));
process.exit(0);
"""


def card(kind: str, press: str = "", choose: list[str] | None = None, **request: Any) -> dict[str, Any]:
    """Show a question, press a button. Out: what the card showed, and what was answered."""
    asked = {"question": "q", "kind": kind, "request": request}
    given = json.dumps({"asked": asked, "press": press, "choose": choose or []})
    ended = subprocess.run(
        [NODE, "--input-type=module", "-e", PROGRAM, given], cwd=FOLDER, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_what_cannot_be_seen_is_named():
    shown = card("permission", tool_name="Bash", input={"command": "ls \u202e\u200b\x1b[0m\n\tcat"})["texts"]
    assert "ls ⟨U+202E⟩⟨U+200B⟩⟨U+001B⟩[0m\n\tcat" in shown


def test_a_yes_is_armed_only_after_a_moment_and_a_no_at_once():
    found = card("permission", "Allow", tool_name="Bash", input={"command": "ls"})
    assert (found["armed"], found["said"]) == (["Deny"], {"behavior": "allow"})
    assert card("permission", "Deny", tool_name="Bash", input={})["said"] == {"behavior": "deny", "reason": ""}


def test_lasting_grants_name_what_they_grant_and_never_everything():
    rule = {"type": "addRules", "behavior": "allow", "rules": [{"toolName": "Bash", "ruleContent": "npm test"}]}
    every = {"type": "addRules", "behavior": "allow", "rules": [{"toolName": "Read"}]}
    modes = [{"type": "setMode", "mode": mode} for mode in ("bypassPermissions", "acceptEdits")]
    offer = {"tool_name": "Bash", "input": {}, "permission_suggestions": [modes[0], rule, every, modes[1]]}
    found = card("permission", "Allow, and in this session always allow Bash(npm test)", **offer)
    assert found["buttons"][2:] == [
        "Allow, and in this session always allow Bash(npm test)",
        "Allow, and in this session always allow every Read",
        "Allow, and in this session accept edits without asking",
    ]
    assert found["said"] == {"behavior": "allow", "updates": [{"index": 1}]}


def test_questions_are_answered_by_their_text():
    options = [{"label": "Red", "description": "warm"}, {"label": "Blue"}]
    asked = [{"question": "Which?", "options": options}, {"question": "All?", "options": options, "multiSelect": True}]
    found = card("questions", "Answer", ["Red", "Blue"], input={"questions": asked[1:]})
    assert found["said"] == {"behavior": "allow", "answers": {"All?": ["Red", "Blue"]}}
    assert card("questions", "Answer", ["Blue"], input={"questions": asked})["said"]["answers"]["Which?"] == "Blue"


def test_a_plan_is_gone_on_with_in_a_mode():
    found = card("plan", "Go on, accept edits", tool_name="ExitPlanMode", input={"plan": "1. Look."})
    assert found["said"] == {"behavior": "allow", "mode": "acceptEdits"}
    assert "1. Look." in found["texts"]


def test_a_form_of_a_server_is_filled_in():
    fields = {"name": {"type": "string", "title": "Your name"}, "old": {"type": "boolean"}}
    found = card(
        "elicitation", "Answer", mcp_server_name="shop", message="Who?", requested_schema={"properties": fields}
    )
    assert found["texts"][0] == "shop asks: Who?"
    assert found["said"]["behavior"] == "allow"
