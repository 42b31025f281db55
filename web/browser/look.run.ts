import { test } from "vitest";
import { join } from "node:path";
import { Server } from "./server";
import { begin } from "./session";
import { closeBrowser, PHONE, Visitor, type Look } from "./visitor";
const LOOKS: Record<string, Look> = { light: {}, dark: { dark: true }, phone: { size: PHONE, touch: true } };
test("look", { timeout: 200_000 }, async () => {
  const server = await Server.start({ cli: "", files: { "README.md": "x" } });
  for (const [name, look] of Object.entries(LOOKS)) {
    const v = await Visitor.come(server, look);
    await v.page.getByText("Demo mode").first().waitFor();
    await v.page.screenshot({ path: `/tmp/look/start-${name}.png` });
    await v.page.locator(".start-model button").click();
    await v.page.getByRole("radio", { name: /API key/ }).check();
    await v.page.screenshot({ path: `/tmp/look/connect-${name}.png` });
    await v.page.keyboard.press("Escape");
    if (name === "light") { await begin(v); await v.say("hello"); await v.sees("Demo mode"); await begin(v); await v.say("something else"); await v.sees("Demo mode");
      await v.page.keyboard.press("Alt+s"); await v.page.keyboard.type("script"); await v.page.getByText(/results?$/).first().waitFor(); await v.page.screenshot({ path: "/tmp/look/search.png" }); await v.page.keyboard.press("Escape");
      await v.page.keyboard.press("Control+k"); await v.page.screenshot({ path: "/tmp/look/palette.png" }); }
    await v.context.close();
  }
  await closeBrowser(); await server.stop();
});
