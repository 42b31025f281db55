// A session: its header, the conversation, the pending prompts and the message field.

import { useEffect } from "react";

import { follow, followOnly, useBridge } from "../state/bridge";
import { Folder } from "../tools/folder";
import { Composer } from "./composer/composer";
import { Conversation } from "./conversation/conversation";
import { Missing, useMissing } from "./pages/missing";
import { Prompts } from "./prompts/prompts";
import { SessionHead } from "./sessions/session-head";
import { StatusBar } from "./status-bar/status-bar";

export function SessionView({ id }: { id: string }) {
  const followed = follow(id);
  const session = useBridge((known) => known.sessions.get(id));
  const missing = useMissing(id);
  useEffect(() => followOnly(id), [id]);
  if (missing) return <Missing />;
  return (
    <Folder value={session?.cwd ?? ""}>
      <SessionHead session={session} followed={followed} />
      <Conversation key={id} followed={followed} />
      <Prompts key={`p${id}`} followed={followed} />
      <Composer key={`c${id}`} followed={followed} />
      <StatusBar key={`b${id}`} followed={followed} />
    </Folder>
  );
}
