// A menu by keys.

import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";

import { escape } from "../../src/state/escape";
import { Menu } from "../../src/ui/menu";

afterEach(cleanup);

const items = [{ id: "a", label: "Apple", chosen: false }, { id: "b", label: "Berry", chosen: true }, { id: "c", label: "Cherry", chosen: false, disabled: true }, { id: "d", label: "Date", chosen: false }];

function open() {
  const onChoose = vi.fn();
  render(<Menu label="Fruit" button="Fruit" items={items.map((item) => ({ ...item, pick: () => onChoose(item.id) }))} />);
  fireEvent.click(screen.getByRole("button", { name: "Fruit" }));
  return onChoose;
}

const focused = () => document.activeElement?.textContent;
const press = (key: string) => fireEvent.keyDown(document.activeElement!, { key });

test("it opens at the current item, arrows wrap and skip disabled items, letters select by name", () => {
  open();
  expect(focused()).toBe("Berry");
  press("ArrowDown");
  expect(focused()).toBe("Date");
  press("ArrowDown");
  expect(focused()).toBe("Apple");
  press("End");
  expect(focused()).toBe("Date");
  press("b");
  expect(focused()).toBe("Berry");
});

test("a choice closes it, and the focus is at the button again", () => {
  const onChoose = open();
  fireEvent.click(screen.getByRole("menuitemradio", { name: "Date" }));
  expect(onChoose).toHaveBeenCalledWith("d");
  expect(screen.queryByRole("menu")).toBeNull();
  expect(focused()).toBe("Fruit");
});

test("Escape and a press elsewhere close it without a choice", () => {
  const onChoose = open();
  act(() => void escape());
  expect(screen.queryByRole("menu")).toBeNull();
  fireEvent.click(screen.getByRole("button", { name: "Fruit" }));
  fireEvent.pointerDown(document.body);
  expect(screen.queryByRole("menu")).toBeNull();
  expect(onChoose).not.toHaveBeenCalled();
});

test("a toggle shows its state, and a download is a link that closes the menu", () => {
  render(<Menu label="More" button="More" items={[{ id: "panel", label: "Help", on: true }, { id: "save", label: "Save", href: "#file" }]} />);
  fireEvent.click(screen.getByRole("button", { name: "More" }));
  expect(screen.getByRole("menuitemcheckbox", { name: "Help" }).getAttribute("aria-checked")).toBe("true");
  const link = screen.getByRole("menuitem", { name: "Save" });
  expect(link.getAttribute("href")).toBe("#file");
  fireEvent.click(link);
  expect(screen.queryByRole("menu")).toBeNull();
});
