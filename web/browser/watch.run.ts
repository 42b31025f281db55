// A page that watches a session while a test kills the parts behind it. HANDRAIL_LINK: the link that the server printed;
// HANDRAIL_SESSION: the session; HANDRAIL_REPORT: an address of the test, which gets the text of the conversation at each change. Requests
// for /reload and /end are answered when the test has seen enough.

import { test } from "vitest";

import type { Server } from "./server";
import { sharedBrowser, TALL, Visitor } from "./visitor";

const REPORT = process.env["HANDRAIL_REPORT"]!;

test("a page watches a session", { timeout: 240_000 }, async () => {
  const link = process.env["HANDRAIL_LINK"]!;
  const { origin } = new URL(link);
  const context = await (await sharedBrowser()).newContext({ viewport: { ...TALL, height: 6000 }, reducedMotion: "reduce" });
  const visitor = new Visitor(await context.newPage(), context, { origin } as Server);
  const { page } = visitor;
  page.setDefaultTimeout(60_000); // the machine is busy with the processes behind the page too
  let reports = Promise.resolve();
  await page.exposeFunction("report", (text: string) => {
    reports = reports.then(async () => void (await fetch(`${REPORT}/text`, { method: "POST", body: text })));
  });

  const watch = async (): Promise<void> => {
    await page.reload();
    await visitor.log.waitFor();
    await page.evaluate(() => {
      const { report } = window as unknown as { report: (text: string) => void };
      // The rows alone: what is announced to screen readers repeats them. They are looked up each time: the element is replaced while it loads.
      new MutationObserver(() => report(document.querySelector<HTMLElement>("[role=log] .rows")?.innerText ?? "")).observe(document.body, {
        subtree: true,
        childList: true,
        characterData: true,
      });
      report(document.querySelector<HTMLElement>("[role=log] .rows")?.innerText ?? "");
    });
  };

  const login = page.waitForResponse((response) => response.url().endsWith("/api/login"));
  await page.goto(link);
  await login;
  await page.goto(`${origin}/#/session/${process.env["HANDRAIL_SESSION"]}`);
  await watch();
  await fetch(`${REPORT}/reload`);
  await watch();
  await fetch(`${REPORT}/end`);
  await reports;
  await visitor.leave();
});
