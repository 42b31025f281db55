// A button that copies text, and confirms it on screen and to screen readers.

import { useEffect, useState } from "react";

import { tell } from "../state/notices";
import { strings } from "../strings";
import { Button } from "./button";
import { Icon } from "./icon";

const SHOWN = 1500;

export function Copy({ text, label = strings.conversation.copy }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return undefined;
    const timer = setTimeout(() => setDone(false), SHOWN);
    return () => clearTimeout(timer);
  }, [done]);
  return (
    <Button kind="quiet" className="copy" aria-label={done ? strings.conversation.copied : label} title={label} onClick={() => void copy(text).then(setDone)}>
      <Icon name={done ? "check" : "copy"} size={14} />
      <span className="unseen" role="status">
        {done ? strings.conversation.copied : ""}
      </span>
    </Button>
  );
}

/** Returns whether the text was copied. Pages without TLS have no clipboard API and use `execCommand`. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** For callers that cannot show the confirmation themselves. */
export async function copyAndTell(text: string): Promise<void> {
  if (await copy(text)) tell(strings.conversation.copied);
  else tell(strings.conversation.notCopied, "error");
}
