// A list of options for a text field that keeps the focus. The field refers to it with `aria-controls` and `aria-activedescendant`, using
// the ids assigned here.

import { useEffect, useRef, type ReactNode } from "react";

import "./listbox.css";
import { visible } from "./visible";

/** Shortened: an option shows only one line. */
const brief = (words: string): string => visible(words.slice(0, 500), true);

export interface Option {
  id: string;
  name: string;
  detail?: string;
  end?: ReactNode;
  code?: boolean;
}

interface Props {
  id: string;
  label: string;
  options: readonly Option[];
  active: number;
  onActive(at: number): void;
  onChoose(at: number): void;
}

export const optionId = (list: string, at: number): string => `${list}-${at}`;

/** The index an arrow key moves to. */
export function stepped(key: string, at: number, count: number): number | undefined {
  if (count === 0) return undefined;
  if (key === "ArrowDown") return (at + 1) % count;
  if (key === "ArrowUp") return (at + count - 1) % count;
  return undefined;
}

export function Listbox({ id, label, options, active, onActive, onChoose }: Props) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.querySelector("[aria-selected=true]")?.scrollIntoView?.({ block: "nearest" });
  }, [active, options]);
  return (
    <div ref={box} id={id} role="listbox" tabIndex={-1} aria-label={label} className="listbox">
      {options.map((option, at) => (
        <div
          key={option.id}
          id={optionId(id, at)}
          role="option"
          tabIndex={-1}
          aria-selected={at === active}
          onPointerMove={() => at !== active && onActive(at)}
          onMouseDown={(event) => event.preventDefault()} // the field keeps the focus
          onClick={() => onChoose(at)}
          onKeyDown={(event) => event.key === "Enter" && onChoose(at)}
        >
          {option.code ? <code className="listbox-name one-line">{brief(option.name)}</code> : <span className="listbox-name one-line">{brief(option.name)}</span>}
          <span className="listbox-detail one-line">{brief(option.detail ?? "")}</span>
          {option.end && <span className="listbox-end">{option.end}</span>}
        </div>
      ))}
    </div>
  );
}
