// Restores files to their state before a message: first lists the changes, then applies exactly those, identified by their hash.

import { useEffect, useState } from "react";

import { number, text, texts, type Json } from "../../protocol/wire";
import { command, socket } from "../../state/bridge";
import { tell } from "../../state/notices";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { visible } from "../../ui/visible";

const words = strings.composer;

export function Rewind({ session, message, onClose }: { session: string; message: string; onClose(): void }) {
  const [would, setWould] = useState<Json | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    let wanted = true;
    socket.command("rewind", { session, message, dry_run: true }).then(
      (told) => wanted && setWould(told),
      (error: Error) => wanted && setWould({ error: error.message }),
    );
    return () => {
      wanted = false;
    };
  }, [session, message]);
  const files = texts(would?.["files_changed"] ?? would?.["filesChanged"]);
  const error = text(would?.["error"]);
  const put = async () => {
    setBusy(true);
    const done = await command("rewind", { session, message, dry_run: false, hash: text(would?.["hash"]) });
    if (done) tell(words.rewindDone(files.length));
    onClose();
  };
  return (
    <Dialog title={words.rewindTitle} onClose={onClose}>
      <div role="status">{!would ? words.rewindLooking : error ? words.rewindNot(error) : files.length === 0 ? words.rewindNothing : words.rewindWould(files.length)}</div>
      {would && !error && files.length > 0 && (
        <>
          <ul className="rewind-files">
            {files.map((file) => (
              <li key={file}><code>{visible(file, true)}</code></li>
            ))}
          </ul>
          <p>
            <span className="rewind-files">
              <span className="added">+{number(would["insertions"])}</span> <span className="removed">−{number(would["deletions"])}</span>
            </span>
          </p>
          <p className="small soft">{words.rewindHelp}</p>
          <footer className="dialog-foot">
            <Button onClick={onClose}>{words.cancel}</Button>
            <Button kind="main" disabled={busy} onClick={() => void put()}>{words.rewindDo}</Button>
          </footer>
        </>
      )}
    </Dialog>
  );
}
