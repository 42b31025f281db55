import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";

import { Guarded } from "../../src/ui/guarded";

afterEach(cleanup);

function Broken(): never {
  throw new Error("a fault of the page");
}

const page = (place: string, inside: React.ReactNode) => (
  <>
    <p>the rest</p>
    <Guarded place={place}>{inside}</Guarded>
  </>
);

test("a failing part shows an error and leaves the rest alone; navigating retries", () => {
  const quiet = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const { rerender } = render(page("/a", <Broken />));
  expect(screen.getByRole("alert").textContent).toContain("a fault of the page");
  expect(screen.getByText("the rest")).toBeTruthy();
  rerender(page("/b", <p>fine again</p>));
  expect(screen.queryByRole("alert")).toBeNull();
  expect(screen.getByText("fine again")).toBeTruthy();
  quiet.mockRestore();
});
