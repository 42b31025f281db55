// The output of `/context`, in the forms printed by the versions 2.1.38 and 2.1.325 of the CLI.

import { describe, expect, test } from "vitest";

import { contextFrom } from "../../src/state/context-text";
import { Telling } from "./telling";

const OLD = `## Context Usage
**Model:** claude-sonnet-4-5-20250929
**Tokens:** 23.9k / 200k (12%)

| Category           | Tokens |
|--------------------|--------|
| System prompt      |  3,200 |
| Messages           |  9,800 |
| Compact buffer     |      0 |
| Free space         | 176,900|`;

const NEW = `## Context Usage

**Model:** claude-opus-5-5  
**Tokens:** 3.2k / 1m (0%)

### Estimated usage by category

| Category | Tokens | Percentage |
|----------|--------|------------|
| System prompt | 1.1k | 0.1% |
| Skills | 2.1k | 0.2% |
| Free space | 963.8k | 96.4% |
| Autocompact buffer | 33k | 3.3% |

### Skills

| Skill | Source | Tokens |
|-------|--------|--------|
| dataviz | Built-in | ~480 |`;

test("both forms give tokens, window and categories", () => {
  expect(contextFrom(OLD)).toEqual({
    used: 23_900,
    total: 200_000,
    categories: [{ name: "System prompt", tokens: 3200 }, { name: "Messages", tokens: 9800 }, { name: "Compact buffer", tokens: 0 }, { name: "Free space", tokens: 176_900 }],
  });
  expect(contextFrom(NEW)).toEqual({
    used: 3200,
    total: 1_000_000,
    categories: [{ name: "System prompt", tokens: 1100 }, { name: "Skills", tokens: 2100 }, { name: "Free space", tokens: 963_800 }, { name: "Autocompact buffer", tokens: 33_000 }],
  });
});

test("other texts are not a report", () => {
  for (const text of ["", "Total cost: $0.04", "## Context Usage", "**Tokens:** 1k / 2k", `## Context Usage\n**Tokens:** many / few`, `${"x".repeat(200_000)}\n${OLD}`]) expect(contextFrom(text)).toBeNull();
});

describe("the gauge", () => {
  test("is filled by the output as an old and as a new CLI sends it", () => {
    expect(new Telling().user(`<local-command-stdout>\n${OLD}\n</local-command-stdout>`, { isReplay: true }).state.context).toMatchObject({ used: 23_900, total: 200_000 });
    expect(new Telling().assistant(NEW, { local_command_source: "context" }).state.context).toMatchObject({ used: 3200, total: 1_000_000 });
  });

  test("is not filled by a model that prints the same text", () => {
    expect(new Telling().assistant(OLD).state.context).toEqual({ used: 0, total: 0, categories: [] });
    expect(new Telling().init().use("t1", "Task").user(`<local-command-stdout>${OLD}</local-command-stdout>`, { parent_tool_use_id: "t1" }).state.context.used).toBe(0);
  });

  test("the next answer updates the tokens and drops the outdated categories", () => {
    const telling = new Telling().user(`<local-command-stdout>${OLD}</local-command-stdout>`).init().assistant("hi", { message: { id: "m", content: "hi", usage: { input_tokens: 30_000 } } });
    expect(telling.state.context).toEqual({ used: 30_000, total: 200_000, categories: [] });
  });
});
