// Edits a session's title in place. Enter saves it, Escape cancels.

import { useEffect, useRef, useState } from "react";

import type { SessionShown } from "../../protocol/messages";
import { useEscape } from "../../state/escape";
import { renameSession } from "../../state/session-actions";
import { strings } from "../../strings";

const LONGEST = 200;

export function TitleField({ session, done }: { session: SessionShown; done(): void }) {
  const [title, setTitle] = useState(session.title);
  const field = useRef<HTMLInputElement>(null);
  const finished = useRef(false);
  useEffect(() => field.current?.select(), []);
  const end = (keep: boolean) => {
    if (finished.current) return; // the blur that follows Enter or Escape
    finished.current = true;
    if (keep) void renameSession(session, title);
    done();
  };
  useEscape("menu", true, () => end(false));
  return (
    <input
      ref={field}
      className="title-field grow"
      aria-label={strings.sessions.rename.label}
      value={title}
      maxLength={LONGEST}
      autoComplete="off"
      onChange={(event) => setTitle(event.target.value)}
      onKeyDown={(event) => event.key === "Enter" && !event.nativeEvent.isComposing && end(true)}
      onBlur={() => end(true)}
    />
  );
}
