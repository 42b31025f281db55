// What no source of the page may do: make code or markup out of text, ask anywhere else, bring looks that the policy forbids.

import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";

import { expect, test } from "vitest";

const WEB = resolve(import.meta.dirname, "../..");
const files = (folder: string): string[] => readdirSync(join(WEB, folder), { recursive: true, withFileTypes: true }).filter((one) => one.isFile()).map((one) => relative(WEB, join(one.parentPath, one.name)));
const SCRIPTS = [...files("src"), "public/sw.js"].filter((name) => /\.(?:tsx?|js)$/.test(name));
const STYLES = files("src").filter((name) => name.endsWith(".css"));

/** Without comments: those may speak of anything. */
const code = (name: string): string => readFileSync(join(WEB, name), "utf8").replace(/\/\*[\s\S]*?\*\//g, "").replace(/(?<![:"'`\\/])\/\/.*$/gm, "");
const found = (names: string[], pattern: RegExp): string[] => names.filter((name) => pattern.test(code(name)));

test.each<[string, RegExp, string[]]>([
  ["makes markup of text", /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcdoc/i, []],
  ["makes code of text", /\beval\b|new Function|importScripts|setTimeout\(\s*["'`]|setInterval\(\s*["'`]|["'`]javascript:/, []],
  ["has a policy for trusted types", /createPolicy/, ["src/state/trusted-scripts.ts"]],
  ["asks the server by itself", /(?<![.#\w])fetch\(|XMLHttpRequest|EventSource|sendBeacon/, ["src/protocol/api.ts", "src/state/worker.ts", "src/views/panels/inspector-panel.tsx", "public/sw.js"]],
  ["opens a socket", /new WebSocket/, ["src/protocol/socket.ts"]],
  ["names an address elsewhere", /["'`]https?:\/\/(?!www\.w3\.org\/2000\/svg)[\w.]/, []],
  ["opens a window", /window\.open|\bopener\b/, []],
  ["hears messages of other windows", /addEventListener\(\s*["']message["']/, ["src/state/worker.ts"]],
  ["keeps something in the browser", /localStorage|indexedDB|document\.cookie/, ["src/state/drafts.ts", "src/state/page.ts"]],
  ["writes styles into markup", /style=["'`]|<style/i, []],
])("no source %s but those that are known", (_what, pattern, known) => {
  expect(found(SCRIPTS, pattern).toSorted()).toEqual(known.toSorted());
});

test("colours are defined in one file", () => {
  const literal = /#[0-9a-f]{3,8}\b|\b(?:rgb|hsl|hwb|lab|lch|oklab|oklch|color)a?\(/i;
  const names = [...STYLES, ...SCRIPTS].filter((name) => !name.endsWith("tokens.css"));
  const wrong = names.filter((name) => literal.test(code(name).replace(/["'`]#[^"'`]*["'`]|color-mix\([^)]*\)/g, "")));
  expect(wrong).toEqual([]);
});

test("styles load nothing", () => {
  expect(found(STYLES, /url\(|@import|expression\(/i)).toEqual([]);
});

test("every external link has no opener and no referrer", () => {
  for (const name of SCRIPTS) {
    for (const [tag] of code(name).matchAll(/<a\b[^>]*target="_blank"[^>]*>/g)) expect(tag, name).toMatch(/rel="noopener noreferrer/);
  }
});
