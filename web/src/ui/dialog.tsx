// A modal dialog, based on the browser's own: it traps the focus and makes the rest of the page inert.

import { useEffect, useRef, type ReactNode } from "react";

import { useEscape } from "../state/escape";
import { strings } from "../strings";
import { Button } from "./button";
import "./dialog.css";
import { Icon } from "./icon";

interface Props {
  title: string;
  onClose(): void;
  children: ReactNode;
  wide?: boolean;
}

export function Dialog({ title, onClose, children, wide = false }: Props) {
  const box = useRef<HTMLDialogElement>(null);
  const before = useRef<Element | null>(null);
  useEscape("dialog", true, onClose);
  useEffect(() => {
    before.current = document.activeElement;
    const element = box.current;
    element?.showModal();
    return () => {
      element?.close();
      if (before.current instanceof HTMLElement) before.current.focus();
    };
  }, []);
  return (
    <dialog
      ref={box}
      className={wide ? "dialog wide" : "dialog"}
      aria-label={title}
      onCancel={(event) => event.preventDefault()} // the page handles Escape: see state/escape.ts
      onMouseDown={(event) => event.target === box.current && onClose()}
    >
      <div className="dialog-inside">
        <header className="row">
          <h2 className="grow">{title}</h2>
          <Button kind="quiet" aria-label={strings.shell.dismiss} keys="Esc" onClick={onClose}>
            <Icon name="close" />
          </Button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
