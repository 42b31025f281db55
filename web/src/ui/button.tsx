// Buttons. `kind`: main for the primary action, plain for others, quiet without a border until hovered, danger for what cannot be undone.

import type { ButtonHTMLAttributes, ReactNode } from "react";

import "./button.css";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: "main" | "plain" | "quiet" | "danger";
  /** The keyboard shortcut, for the tooltip. */
  keys?: string;
  children?: ReactNode;
}

export function Button({ kind = "plain", keys, title, className = "", children, ...rest }: Props) {
  const tip = [title, keys && `(${keys})`].filter(Boolean).join(" ");
  return (
    <button type="button" className={`button ${kind} ${className}`} title={tip || undefined} {...rest}>
      {children}
    </button>
  );
}
