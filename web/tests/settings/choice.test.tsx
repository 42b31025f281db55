// A setting shows a new value only after the server acknowledged it.

import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";

import { Choice } from "../../src/views/settings/choice";

afterEach(cleanup);

const busy = () => screen.getByRole("group", { name: "Effort" }).getAttribute("aria-busy");
const OPTIONS = [{ value: "low", name: "Low" }, { value: "high", name: "High" }, { value: "max", name: "Highest" }];

function show() {
  let settle: { done(): void; refuse(error: Error): void } = { done() {}, refuse() {} };
  const onChoose = () => new Promise<void>((done, refuse) => (settle = { done, refuse }));
  const view = (value: string) => <Choice label="Effort" value={value} options={OPTIONS} onChoose={onChoose} />;
  const { rerender } = render(view("low"));
  const field = screen.getByRole<HTMLSelectElement>("combobox", { name: "Effort" });
  return { field, settle: () => settle, told: (value: string) => rerender(view(value)) };
}

test("the old value stays while the change is pending, the new one follows the acknowledgement", async () => {
  const { field, settle, told } = show();
  fireEvent.change(field, { target: { value: "high" } });
  expect([field.value, busy()]).toEqual(["low", "true"]);
  fireEvent.change(field, { target: { value: "max" } }); // ignored until the first change is settled
  expect(screen.getByRole("status").textContent).toBe("Changing to High…");
  await act(async () => settle().done());
  expect([field.value, busy()]).toEqual(["high", "false"]);
  expect(screen.getByRole("status").textContent).toContain("Changed to High");
  told("high");
  told("low"); // another device changed it back
  expect(field.value).toBe("low");
});

test("a refusal leaves the old value and shows the reason", async () => {
  const { field, settle } = show();
  fireEvent.change(field, { target: { value: "high" } });
  await act(async () => settle().refuse(new Error("this model does not support effort levels")));
  expect([field.value, busy()]).toEqual(["low", "false"]);
  expect(screen.getByRole("alert").textContent).toBe("Could not change to High: this model does not support effort levels");
  fireEvent.change(field, { target: { value: "high" } });
  expect(screen.queryByRole("alert")).toBeNull();
});
