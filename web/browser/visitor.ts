// A person at a browser: opens the page with the printed link and acts on it. A console error, a violation of the content security policy
// or a request to another host fails the test.

import { existsSync } from "node:fs";

import { chromium, type Browser, type BrowserContext, type Locator, type Page } from "playwright-core";

import type { Server } from "./server";

export const PHONE = { width: 390, height: 844 };
export const DESK = { width: 1280, height: 800 };
/** Tall enough to render every row; rows outside the viewport are not rendered. */
export const TALL = { width: 1280, height: 2400 };

/** The browsers of this process, by their paths. */
const browsers = new Map<string, Promise<Browser>>();

/** Chromium without a window takes a fifth less CPU time. */
const SHELL = "/usr/bin/chromium-headless-shell";
const COMPLETE = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Debian's Chromium, or else one installed from npm. Only a complete one has notifications. */
async function chromiumPath(notifies: boolean): Promise<string> {
  const paths = [process.env["CHROMIUM"], ...(notifies ? [] : [SHELL]), ...COMPLETE];
  const found = paths.find((path) => path && existsSync(path));
  if (found) return found;
  const name = "@sparticuz/chromium";
  const packed = (await import(/* @vite-ignore */ name)) as { default: { executablePath(): Promise<string> } };
  return packed.default.executablePath();
}

/** Pages of the browser's own address bar, which each new window would load: half of the CPU time of opening one. */
const ADDRESS_BAR = ["WebUIOmniboxPopup", "WebUIOmniboxAimPopup"];
/** What Playwright turns off. Chromium obeys only the last list. */
const UNWANTED = ["AimEnabled", "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding", "ThirdPartyStoragePartitioning", "Translate"];

/** A browser of this process, started once: files differ by their contexts. Playwright ends it with the process. */
export async function sharedBrowser(notifies = false): Promise<Browser> {
  const args = ["--no-sandbox", "--disable-dev-shm-usage", `--disable-features=${[...ADDRESS_BAR, ...UNWANTED].join(",")}`];
  const path = await chromiumPath(notifies);
  const started = browsers.get(path) ?? chromium.launch({ executablePath: path, args });
  browsers.set(path, started);
  return started;
}

export interface Look {
  size?: { width: number; height: number };
  dark?: boolean;
  touch?: boolean;
  /** Whether the browser must have notifications. */
  notifies?: boolean;
}

export class Visitor {
  readonly faults: string[] = [];
  /** Console messages that a test expects; any other fails it. */
  expected: RegExp[] = [/WebSocket connection to/, /ERR_CONNECTION_REFUSED/, /Failed to load resource/];

  constructor(
    readonly page: Page,
    readonly context: BrowserContext,
    readonly server: Server,
  ) {
    page.on("console", (message) => {
      if (message.type() === "error" && !this.expected.some((one) => one.test(message.text()))) this.faults.push(message.text());
    });
    page.on("pageerror", (error) => this.faults.push(String(error)));
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(server.origin) && !url.startsWith("data:") && !url.startsWith("blob:") && !url.startsWith(server.origin.replace("http", "ws"))) this.faults.push(`asked ${url}`);
    });
  }

  /** Open the page with a link, by default a new one. */
  static async come(server: Server, look: Look = {}, link = ""): Promise<Visitor> {
    const context = await (await sharedBrowser(look.notifies)).newContext({
      viewport: look.size ?? DESK,
      colorScheme: look.dark ? "dark" : "light",
      hasTouch: look.touch ?? false,
      reducedMotion: "reduce",
    });
    const visitor = new Visitor(await context.newPage(), context, server);
    const address = link || (await server.link());
    const login = visitor.page.waitForResponse((response) => response.url().endsWith("/api/login"));
    await visitor.page.goto(address);
    await login; // the list may appear before the link is exchanged for a cookie
    return visitor;
  }

  /** Another tab of the same browser. */
  async tab(): Promise<Visitor> {
    const visitor = new Visitor(await this.context.newPage(), this.context, this.server);
    await visitor.page.goto(this.page.url());
    return visitor;
  }

  /** Start a session in the project folder through the dialog. */
  async startSession(): Promise<void> {
    await openNewSession(this.page);
    const dialog = this.page.getByRole("dialog", { name: "New session" });
    const before = this.page.url();
    await dialog.getByRole("button", { name: "Start" }).click();
    await this.page.waitForURL((now) => now.href !== before && now.hash.startsWith("#/session/")); // the composer of the previous session is on the page too
    await dialog.waitFor({ state: "detached" });
    await this.composer.waitFor();
  }

  get composer(): Locator {
    return this.page.getByRole("textbox", { name: "Message", exact: true });
  }

  get log(): Locator {
    return this.page.getByRole("log", { name: "Conversation" });
  }

  async say(words: string): Promise<void> {
    await this.composer.fill(words);
    await this.composer.press("Enter");
  }

  /** Wait until this text appears in the conversation. */
  async sees(words: string | RegExp): Promise<void> {
    await this.log.getByText(words).first().waitFor();
  }

  /** Close the page. Throws if the page did something forbidden. */
  async leave(): Promise<void> {
    await this.context.close();
    if (this.faults.length) throw new Error(`the page did what it should not:\n${this.faults.join("\n")}`);
  }
}

/** Close all visitors and the server at the end of a file's tests, also those of a test that failed. */
export async function part(server: Server | undefined, ...visitors: (Visitor | undefined)[]): Promise<void> {
  try {
    for (const visitor of visitors) await visitor?.leave();
  } finally {
    for (const browser of await Promise.all(browsers.values())) {
      for (const context of browser.contexts()) await context.close();
    }
    await server?.stop();
  }
}

/** Open the dialog for a new session. On a phone its button is in the list of sessions, which opens first. */
export async function openNewSession(page: Page): Promise<void> {
  const button = page.getByRole("button", { name: "New session" }).first();
  const list = page.getByRole("button", { name: "Show sessions" }).first();
  await button.or(list).first().waitFor();
  if (!(await button.isVisible())) await list.click();
  await button.click();
}
