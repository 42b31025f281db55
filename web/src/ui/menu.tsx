// A button that opens a menu. Arrow keys, Home, End and first letters move through it; Escape or a click elsewhere closes it and returns
// the focus to the button.

import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";

import { useEscape } from "../state/escape";
import { Button } from "./button";
import { Icon, type IconName } from "./icon";
import "./menu.css";
import { visible } from "./visible";

export interface MenuItem {
  id: string;
  label: string;
  help?: string;
  icon?: IconName;
  pick?(): void;
  /** Download this address as a file. */
  href?: string;
  /** For one of several choices: whether it is selected. */
  chosen?: boolean;
  /** For an independent toggle. */
  on?: boolean;
  disabled?: boolean;
  danger?: boolean;
  /** Draw a separator above. */
  apart?: boolean;
}

interface Props {
  /** The button's label for screen readers. */
  label: string;
  button: ReactNode;
  items: readonly MenuItem[];
  /** Open upwards if there is room. */
  up?: boolean;
  /** Align with the end of the button. */
  end?: boolean;
  disabled?: boolean;
  title?: string;
  tabIndex?: number;
}

export function Menu({ label, button, items, up = false, end = false, disabled = false, title = label, tabIndex }: Props) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const close = (back = true) => {
    setOpen(false);
    if (back) box.current?.querySelector<HTMLElement>("button")?.focus();
  };
  useEscape("menu", open, () => close());
  useEffect(() => {
    if (!open) return undefined;
    const all = entries(box.current);
    const list = box.current?.querySelector<HTMLElement>(".menu");
    const put = () => list && place(list, box.current!, up, end);
    list?.showPopover?.();
    put();
    (all.find((one) => one.getAttribute("aria-checked") === "true") ?? all[0])?.focus({ preventScroll: true });
    const elsewhere = (event: PointerEvent) => !box.current?.contains(event.target as Node) && close(false);
    addEventListener("pointerdown", elsewhere);
    addEventListener("scroll", put, true); // the button may move
    addEventListener("resize", put);
    return () => {
      removeEventListener("pointerdown", elsewhere);
      removeEventListener("scroll", put, true);
      removeEventListener("resize", put);
    };
  }, [open, up, end]);
  const pick = (item: MenuItem) => {
    close(); // first, since what `pick` opens takes the focus
    item.pick?.();
  };
  return (
    <div className="menu-box" ref={box} onBlur={(event) => open && event.relatedTarget && !box.current?.contains(event.relatedTarget) && setOpen(false)}>
      <Button kind="quiet" aria-label={label} title={title} aria-haspopup="menu" aria-expanded={open} aria-controls={open ? id : undefined} disabled={disabled} tabIndex={tabIndex} onClick={() => setOpen(!open)}>
        {button}
      </Button>
      {open && (
        <div id={id} role="menu" tabIndex={-1} aria-label={label} popover="manual" className="menu" onKeyDown={(event) => walk(event, box.current)}>
          {items.map((item) => (
            <Entry key={item.id} item={item} pick={() => pick(item)} />
          ))}
        </div>
      )}
    </div>
  );
}

function Entry({ item, pick }: { item: MenuItem; pick(): void }) {
  const { label, help, icon, href, chosen, on, disabled = false, danger, apart } = item;
  const className = ["menu-item", danger && "danger", apart && "apart"].filter(Boolean).join(" ");
  const checked = chosen ?? on;
  const mark = checked ? "check" : icon;
  const inside = (
    <>
      {(mark || checked !== undefined) && <span className="menu-mark">{mark && <Icon name={mark} />}</span>}
      <span>
        {visible(label, true)}
        {help && <small>{visible(help)}</small>}
      </span>
    </>
  );
  if (href) {
    return (
      <a role="menuitem" tabIndex={-1} className={className} href={href} download onClick={pick}>
        {inside}
      </a>
    );
  }
  const role = chosen !== undefined ? "menuitemradio" : on !== undefined ? "menuitemcheckbox" : "menuitem";
  return (
    <button type="button" className={className} role={role} aria-checked={checked} tabIndex={-1} disabled={disabled} onClick={pick}>
      {inside}
    </button>
  );
}

const GAP = 4;

/** Position the menu at its button, above or below, inside the window. It is in the top layer, so CSS cannot position it. */
function place(list: HTMLElement, box: HTMLElement, up: boolean, end: boolean): void {
  const at = box.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = list;
  const below = innerHeight - at.bottom - GAP;
  const over = up ? at.top - GAP >= height || at.top > below : below < height && at.top > below;
  const left = end ? at.right - width : at.left;
  list.style.left = `${Math.max(GAP, Math.min(left, innerWidth - width - GAP))}px`;
  list.style.top = `${Math.max(GAP, over ? at.top - GAP - height : at.bottom + GAP)}px`;
}

const entries = (box: HTMLElement | null): HTMLElement[] => [...(box?.querySelectorAll<HTMLElement>(".menu-item:not(:disabled)") ?? [])];

const STEPS: Record<string, (at: number, count: number) => number> = {
  ArrowDown: (at, count) => (at + 1) % count,
  ArrowUp: (at, count) => (at + count - 1) % count,
  Home: () => 0,
  End: (_at, count) => count - 1,
};

function walk(event: KeyboardEvent, box: HTMLElement | null): void {
  const all = entries(box);
  const at = all.indexOf(document.activeElement as HTMLElement);
  const step = STEPS[event.key];
  const letter = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey ? event.key.toLowerCase() : "";
  const next = step ? all[step(at, all.length)] : letter.trim() ? [...all.slice(at + 1), ...all].find((one) => one.textContent?.trim().toLowerCase().startsWith(letter)) : undefined;
  if (!next) return;
  event.preventDefault();
  event.stopPropagation();
  next.focus();
}
