"""The committed JSON schema and TypeScript types match the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from handrail.bridge.commands.executor import COMMANDS
from handrail.bridge.commands.table import SCOPES
from handrail.bridge.web.http.api_documents import main, schema_document, typescript

ROOT = Path(__file__).parents[4]
FILES = {"docs/native-protocol.schema.json": "schema.json", "web/src/protocol/messages.ts": "messages.ts"}


def test_generated_files_are_current(tmp_path: Path):
    main(tmp_path / "schema.json", tmp_path / "messages.ts")
    stale = [kept for kept, made in FILES.items() if (ROOT / kept).read_text() != (tmp_path / made).read_text()]
    assert stale == [], "run `make types-ts` to update them"


def test_every_command_is_listed_with_its_scope():
    commands = schema_document()["commands"]
    assert {name: row["scope"] for name, row in commands.items()} == {name: row.scope for name, row in COMMANDS.items()}
    assert {row["scope"] for row in commands.values()} <= set(SCOPES)


def test_every_reference_is_defined():
    document = schema_document()

    def references(value: Any) -> set[str]:
        if isinstance(value, dict):
            own = {value["$ref"]} if "$ref" in value else set[str]()
            return own.union(*(references(one) for one in value.values()))
        return set[str]().union(*(references(one) for one in value)) if isinstance(value, list) else set()

    assert {name.removeprefix("#/$defs/") for name in references(document)} <= set(document["$defs"])


def test_typescript_types():
    schema = {
        "$defs": {
            "A": {
                "type": "object",
                "description": "An A.",
                "properties": {
                    "type": {"enum": ["a"]},
                    "list": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
                    "any": {},
                    "map": {"type": "object", "additionalProperties": {"$ref": "#/$defs/B"}},
                    "inner": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
                },
                "required": ["type"],
            },
        },
        "client": {"anyOf": [{"$ref": "#/$defs/A"}]},
        "server": {"const": 1},
        "commands": {"do": {"scope": "view", "fields": {"$ref": "#/$defs/A"}}},
    }
    text = typescript(schema)
    assert (
        "/** An A. */\nexport interface A {\n"
        '  type: "a";\n  list?: (string | null)[];\n  any?: unknown;\n  map?: Record<string, B>;\n'
        "  inner?: {\n    n: number;\n  };\n}"
    ) in text
    assert "export type ClientMessage = A;" in text
    assert '  do: { scope: "view"; fields: A };' in text
