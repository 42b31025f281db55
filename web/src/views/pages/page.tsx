// The frame of a page other than a session: a header and a column.

import type { ReactNode } from "react";

import { DrawerButton } from "../sessions/drawer-button";
import "./page.css";

export function Page({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <>
      <header className="page-head">
        <DrawerButton />
        <h1 className="grow">{title}</h1>
        {actions}
      </header>
      <div className="page-body" tabIndex={0} role="group" aria-label={title}>
        <div className="page-column">{children}</div>
      </div>
    </>
  );
}
