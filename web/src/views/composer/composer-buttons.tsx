// The buttons under the message field, for touch. Send becomes Stop while a turn runs and the field is empty.

import { useRef } from "react";

import { attach, TYPES } from "../../state/outbox";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import { stopTurn } from "./send";

const words = strings.composer;

interface Props {
  session: string;
  running: boolean;
  ready: boolean;
  empty: boolean;
  onInsert(mark: string): void;
}

export function ComposerButtons({ session, running, ready, empty, onInsert }: Props) {
  const files = useRef<HTMLInputElement>(null);
  return (
    <div className="composer-buttons row">
      <Button kind="quiet" aria-label={words.slash} title={words.slash} keys="/" onClick={() => onInsert("/")}><code>/</code></Button>
      <Button kind="quiet" aria-label={words.mention} title={words.mention} keys="@" onClick={() => onInsert("@")}><code>@</code></Button>
      <Button kind="quiet" aria-label={words.image} title={words.image} onClick={() => files.current?.click()}><Icon name="image" /></Button>
      <input
        ref={files}
        type="file"
        hidden
        multiple
        accept={TYPES.join(",")}
        aria-label={words.image}
        onChange={(event) => {
          void attach(session, [...(event.target.files ?? [])]);
          event.target.value = "";
        }}
      />
      <span className="grow" />
      {running && <Button title={words.stop} keys="Esc" onClick={() => stopTurn(session)}><Icon name="stop" /> {words.stop}</Button>}
      {!(running && empty) && (
        <Button kind="main" type="submit" title={running ? words.queue : words.send} keys="Enter" disabled={!ready}>
          <Icon name={running ? "clock" : "send"} /> {running ? words.queue : words.send}
        </Button>
      )}
    </div>
  );
}
