// The menu of a session: rename, fork, export, archive, delete.

import { useState } from "react";
import { useLocation } from "wouter";

import type { SessionShown } from "../../protocol/messages";
import { useMay } from "../../state/bridge";
import { openDialog } from "../../state/page";
import { archiveSession, exportLink, forkSession, stopSession, titleOf } from "../../state/session-actions";
import { strings } from "../../strings";
import { Icon } from "../../ui/icon";
import { Menu, type MenuItem } from "../../ui/menu";
import { DeleteDialog } from "./delete-dialog";
import { standing } from "./session-order";

const words = strings.sessions.menu;
const ASLEEP = ["hibernated", "failed", "interrupted"];

interface Props {
  session: SessionShown;
  rename(): void;
  /** Items added by the caller. */
  more?: readonly MenuItem[];
  tabIndex?: number;
}

export function SessionMenu({ session, rename, more = [], tabIndex }: Props) {
  const [deleting, setDeleting] = useState(false);
  const [, go] = useLocation();
  const mayPrompt = useMay("prompt");
  const mayAdmin = useMay("admin");
  const fork = async () => {
    const made = await forkSession(session.id);
    if (made) go(`/session/${made}`);
  };
  const steer: MenuItem[] = [
    { id: "rename", label: words.rename, icon: "edit", pick: rename },
    { id: "fork", label: words.fork, icon: "fork", pick: () => void fork() },
    { id: "forks", label: words.forks, icon: "list", pick: () => openDialog("forks", session.id) },
    ...(ASLEEP.includes(session.state) ? [] : [{ id: "stop", label: words.stop, icon: "stop" as const, pick: () => void stopSession(session) }]),
    session.archived
      ? { id: "back", label: words.back, icon: "undo", pick: () => void archiveSession(session, false) }
      : { id: "archive", label: words.archive, icon: "archive", pick: () => void archiveSession(session, true) },
  ];
  const items: MenuItem[] = [
    ...more,
    ...(mayPrompt ? steer : session.forked_from ? steer.slice(2, 3) : []).map((one, at) => (at === 0 && more.length ? { ...one, apart: true } : one)),
    { id: "markdown", label: words.markdown, icon: "download", href: exportLink(session.id, "markdown"), apart: true },
    { id: "json", label: words.json, icon: "download", href: exportLink(session.id, "json") },
    ...(mayAdmin ? [{ id: "remove", label: words.remove, icon: "trash" as const, danger: true, apart: true, pick: () => setDeleting(true) }] : []),
  ];
  return (
    <>
      <Menu label={words.label(titleOf(session))} button={<Icon name="more" />} items={items} tabIndex={tabIndex} />
      {deleting && <DeleteDialog session={session} working={standing(session) === "working"} close={() => setDeleting(false)} />}
    </>
  );
}
