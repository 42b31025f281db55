// Addresses of the server under a base path.

import { afterEach, expect, test } from "vitest";

import { addressOf } from "../../src/protocol/base-path";

afterEach(() => history.replaceState(null, "", "/"));

test.each([
  ["/", "/api/health"],
  ["/handrail/", "/handrail/api/health"],
  ["/tools/handrail/index.html", "/tools/handrail/api/health"],
])("a page at %s asks %s", (place, wanted) => {
  (globalThis as unknown as { happyDOM: { setURL(url: string): void } }).happyDOM.setURL(`http://127.0.0.1:8787${place}`);
  expect(addressOf("/api/health")).toBe(wanted);
});
