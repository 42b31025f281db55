// Buttons. `kind`: main is the one that one wants, plain is any other, quiet has no border until it is looked at, danger cannot be undone.

import type { ButtonHTMLAttributes, ReactNode } from "react";

import "./button.css";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: "main" | "plain" | "quiet" | "danger";
  /** The key that does the same, for the tooltip. */
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
