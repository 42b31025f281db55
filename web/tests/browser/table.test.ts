// The table in browser/README.md lists every test file, and all tests that it names exist.

import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";

import { expect, test } from "vitest";

const FOLDER = resolve(import.meta.dirname, "../../browser");
/** Attacks are listed in docs/security.md. */
const ATTACKS = /^security/;

const table = readFileSync(join(FOLDER, "README.md"), "utf8");
const named = [...table.matchAll(/`([\w-]+\.test\.ts)`: (.+?)(?=<br>| \|$)/gm)].map(([, file, name]) => [file!, name!] as const);
const files = readdirSync(FOLDER).filter((name) => name.endsWith(".test.ts"));
const sources = new Map(files.map((file) => [file, readFileSync(join(FOLDER, file), "utf8")]));

test("every test that the table names exists", () => {
  expect(named.length).toBeGreaterThan(100);
  const missing = named.filter(([file, name]) => !["\"", "`"].some((quote) => sources.get(file)?.includes(`(${quote}${name}${quote}`)));
  expect(missing).toEqual([]);
});

test("every test file is in the table", () => {
  const known = new Set(named.map(([file]) => file));
  expect(files.filter((file) => !known.has(file) && !ATTACKS.test(file))).toEqual([]);
});
