// Every state of the page must pass axe, and no focus ring may be clipped. The looks have their own files, so that they run side by side.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import { RARE_STATES } from "./rare-states";
import { Server } from "./server";
import { SHOWCASE } from "./showcase";
import { STATES } from "./states";
import { part, Visitor, type Look } from "./visitor";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Found {
  violations: { id: string; nodes: { html: string }[] }[];
}

/** The elements whose focus ring is cut off by a box that hides its overflow, and that is not scrolled. Runs in the page, after a key. */
function clippedRings(): string[] {
  const before = document.activeElement;
  const focusable = [...document.querySelectorAll<HTMLElement>("a[href], button:not(:disabled), input, select, textarea, summary, [tabindex='0']")];
  const clipped = focusable.filter((element) => {
    if (!element.checkVisibility()) return false;
    element.focus({ preventScroll: true });
    const { outlineStyle, outlineWidth, outlineOffset } = getComputedStyle(element);
    const ring = outlineStyle === "none" ? 0 : Number.parseFloat(outlineWidth) + Number.parseFloat(outlineOffset);
    const { left, right, top, bottom } = element.getBoundingClientRect();
    if (ring <= 0) return false;
    for (let box = element.parentElement; box && box !== document.documentElement; box = box.parentElement) {
      const { overflowX, overflowY } = getComputedStyle(box);
      if (overflowX === "visible" && overflowY === "visible") continue;
      const area = box.getBoundingClientRect();
      const [x, y] = [area.left + box.clientLeft, area.top + box.clientTop];
      if (right < x || left > x + box.clientWidth || bottom < y || top > y + box.clientHeight) return false; // out of sight
      if (left >= x && left - ring < x && box.scrollLeft === 0) return true;
      if (right <= x + box.clientWidth && right + ring > x + box.clientWidth && box.scrollLeft + box.clientWidth >= box.scrollWidth) return true;
      if (top >= y && top - ring < y && box.scrollTop === 0) return true;
      if (bottom <= y + box.clientHeight && bottom + ring > y + box.clientHeight && box.scrollTop + box.clientHeight >= box.scrollHeight) return true;
    }
    return false;
  });
  if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  return clipped.map((element) => element.outerHTML.slice(0, 140));
}

/** Go through every state with this look. Returns what is wrong, by state. */
export async function faultsInEveryState(look: Look): Promise<string[]> {
  const server = await Server.start(SHOWCASE);
  const faults: string[] = [];
  let visitor: Visitor | undefined;
  try {
    visitor = await Visitor.come(server, look);
    visitor.page.setDefaultTimeout(10_000);
    for (const state of [...STATES, ...RARE_STATES]) {
      await state.reach(visitor);
      if ((await visitor.page.evaluate("typeof axe")) === "undefined") {
        // The page's policy runs no script from elsewhere: this one comes by the debugger. It stays until the page is loaded again.
        const session = await visitor.context.newCDPSession(visitor.page);
        await session.send("Runtime.evaluate", { expression: AXE });
        await session.detach();
      }
      const { violations } = (await visitor.page.evaluate("axe.run(document, { resultTypes: ['violations'] })")) as Found;
      for (const one of violations) faults.push(`${state.name}: ${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
      await visitor.page.keyboard.press("Shift"); // focus rings are shown to those who use keys
      for (const one of await visitor.page.evaluate(clippedRings)) faults.push(`${state.name}: focus ring clipped: ${one}`);
    }
  } finally {
    await part(server, visitor);
  }
  return faults;
}
