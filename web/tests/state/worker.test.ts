import { expect, test } from "vitest";

import { scriptAddress } from "../../src/state/trusted-scripts";
import { scriptsOf } from "../../src/state/worker";

const page = (hash: string) => `<!doctype html><script type="module" crossorigin src="/assets/index-${hash}.js"></script><link href="/assets/index-x.css">`;

test("another hash in a script's name is another version", () => {
  expect(scriptsOf(page("abc"))).toBe("/assets/index-abc.js");
  expect(scriptsOf(page("abc"))).not.toBe(scriptsOf(page("def")));
});

test("no script but the page's own worker may be started", () => {
  expect(scriptAddress("/sw.js")).toBe("/sw.js");
  expect(() => scriptAddress("https://elsewhere.example/sw.js")).toThrow(TypeError);
});
