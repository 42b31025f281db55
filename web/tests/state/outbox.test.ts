// Which images may be sent.

import { expect, test } from "vitest";

import { LARGEST, refusal, typeOf, type Picture } from "../../src/state/outbox";

const picture = (size: number): Picture => ({ key: "k", name: "n", size, shown: "", id: "i" });

test("the type of a file is read from its first bytes, not from its name", () => {
  expect(typeOf(new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))).toBe("image/png");
  expect(typeOf(new Uint8Array([0xff, 0xd8, 0xff, 0xe0]))).toBe("image/jpeg");
  expect(typeOf(new TextEncoder().encode("GIF89a"))).toBe("image/gif");
  expect(typeOf(new TextEncoder().encode("RIFF....WEBP"))).toBe("image/webp");
  expect(typeOf(new TextEncoder().encode("<svg></svg>"))).toBe("");
  expect(typeOf(new Uint8Array())).toBe("");
});

test("the reason is given: not an image, too large, empty, too many, too much in total", () => {
  expect(refusal("a.svg", 10, "", [])).toContain("PNG, JPEG, GIF or WebP");
  expect(refusal("a.png", LARGEST + 1, "image/png", [])).toContain("5.0 MiB");
  expect(refusal("a.png", 0, "image/png", [])).toContain("empty");
  expect(refusal("a.png", 1, "image/png", Array.from({ length: 20 }, () => picture(1)))).toContain("20 images");
  expect(refusal("a.png", LARGEST, "image/png", Array.from({ length: 4 }, () => picture(LARGEST)))).toContain("20 MiB");
  expect(refusal("a.png", LARGEST, "image/png", [])).toBe("");
});
