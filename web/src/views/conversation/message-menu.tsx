// The menu of a user message: copy, fork from here, restore files.

import { useState } from "react";
import { useLocation, useRoute } from "wouter";

import { plain } from "../../protocol/wire";
import { useMay } from "../../state/bridge";
import { forkSession } from "../../state/session-actions";
import type { Said } from "../../state/state";
import { strings } from "../../strings";
import { copyAndTell } from "../../ui/copy";
import { Menu, type MenuItem } from "../../ui/menu";
import "./message-menu.css";
import { Rewind } from "./rewind";

const words = strings.composer;

export function MessageMenu({ row }: { row: Said }) {
  const [, params] = useRoute("/session/:id");
  const [, go] = useLocation();
  const [rewinding, setRewinding] = useState(false);
  const mayPrompt = useMay("prompt");
  const mayApprove = useMay("approve");
  const session = params?.id ?? "";
  const fork = async () => {
    const id = await forkSession(session, row.uuid);
    if (id) go(`/session/${id}`);
  };
  const items: MenuItem[] = [
    { id: "copy", label: words.copy, icon: "copy", pick: () => void copyAndTell(plain(row.blocks)) },
    ...(mayPrompt && row.uuid ? [{ id: "fork", label: words.fork, icon: "fork", pick: () => void fork() } as const] : []),
    ...(mayApprove && row.uuid ? [{ id: "rewind", label: words.rewind, icon: "undo", pick: () => setRewinding(true) } as const] : []),
  ];
  return (
    <div className="message-menu">
      <Menu end label={words.messageMenu} button={<span aria-hidden="true">⋯</span>} items={items} />
      {rewinding && <Rewind session={session} message={row.uuid} onClose={() => setRewinding(false)} />}
    </div>
  );
}
