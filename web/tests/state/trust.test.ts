import { expect, test } from "vitest";

import { askTrust, leaveOut, trustOf, useTrust } from "../../src/state/trust";

test("a folder with nothing to run asks nothing", () => {
  expect(trustOf("s", null)).toBeNull();
  expect(trustOf("s", { items: [] })).toBeNull();
});

test("every item is kept, also one that is not whole", () => {
  const asked = trustOf("s", { digest: "d", complete: false, items: [{ kind: "hook", name: "Stop", text: "rm -rf /", path: ".claude/settings.json", line: 3 }, { text: 5 }] });
  expect(asked?.items).toHaveLength(2);
  expect(asked).toMatchObject({ session: "s", digest: "d", complete: false });
});

test("declined items are not asked about again, unless the user asks or the files change", () => {
  const asked = trustOf("s", { digest: "one", items: [] });
  askTrust(asked);
  expect(useTrust.getState().asked).toBe(asked);
  leaveOut();
  askTrust(asked);
  expect(useTrust.getState().asked).toBeNull();
  askTrust(asked, true);
  expect(useTrust.getState().asked).toBe(asked);
  leaveOut();
  askTrust(trustOf("s", { digest: "two", items: [] }));
  expect(useTrust.getState().asked?.digest).toBe("two");
});
