// Data about a session's CLI.

import { expect, test } from "vitest";

import { aboutOf, serverOf } from "../../src/state/about";

test("before the first answer the data of the last turn is used", () => {
  const about = aboutOf(undefined, { slash_commands: ["compact"], agents: ["Explore"], tools: ["Bash"], claude_code_version: "2.1", fast_mode_state: "off" });
  expect(about.asked).toBe(false);
  expect(about.commands).toEqual([{ name: "compact", description: "", argumentHint: "" }]);
  expect(about.agents.map((one) => one.name)).toEqual(["Explore"]);
  expect(about.version).toBe("2.1");
});

test("an answer says more than the last turn, and takes its place", () => {
  const told = { running: true, commands: [{ name: "compact", description: "Sum up", argumentHint: "[what]" }], models: [{ value: "opus", displayName: "Opus", supportedEffortLevels: ["low"] }], branch: "main" };
  const about = aboutOf(told, { slash_commands: ["compact"] });
  expect(about.commands[0]!.description).toBe("Sum up");
  expect(about.models[0]).toMatchObject({ value: "opus", name: "Opus", resolved: "opus", efforts: ["low"] });
  expect(about.branch).toBe("main");
});

test("missing and malformed fields are empty, never an error", () => {
  const about = aboutOf({ commands: "x", agents: [7, null], models: [null], hooks: {}, account: [1], branch: 3 }, { plugins: "no" });
  expect(about).toMatchObject({ commands: [], agents: [], models: [], hooks: [], account: {}, branch: "", plugins: [] });
  expect(serverOf({ name: 3, tools: [{ name: "a" }, 5] })).toMatchObject({ name: "", tools: [{ name: "a", description: "" }] });
});

const signIn = (one: Record<string, unknown>) => serverOf({ name: "harbour", ...one }).signIn;

test("the server decides whether a sign-in is offered; an older server offers it by status", () => {
  expect(signIn({ status: "needs-auth", sign_in: true })).toBe(true);
  expect(signIn({ status: "needs-auth", sign_in: false })).toBe(false);
  expect(signIn({ status: "failed", sign_in: true })).toBe(true);
  expect([signIn({ status: "needs-auth" }), signIn({ status: "connected" })]).toEqual([true, false]);
});
