// Queued messages. Each can be edited, cancelled, or sent ahead of the others. After a stop they wait until the user sends them.

import { useEffect, useState } from "react";

import { plain } from "../../protocol/wire";
import { command, useMay } from "../../state/bridge";
import { giveBack } from "../../state/drafts";
import type { Followed } from "../../state/followed";
import { tell } from "../../state/notices";
import type { Queued } from "../../state/state";
import { strings } from "../../strings";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import { sayNow, takeBack } from "./send";

const words = strings.composer;

export function Queue({ followed, onEdit }: { followed: Followed; onEdit(): void }) {
  const queue = followed.use((shown) => shown.state.queue);
  const running = followed.use((shown) => shown.state.turn.running);
  const mayPrompt = useMay("prompt");
  // A message sent while nothing runs usually starts at once; list it as queued only after a delay.
  const late = useLate(queue.length > 0 && !running);
  const held = queue.filter((one) => one.held).length;
  if (queue.length === 0 || (!running && !late && !held)) return null;
  return (
    <section className="queue" aria-label={words.waiting(queue.length)}>
      <p className="small soft">{words.waiting(queue.length)}{held > 0 && ` · ${words.held(held, queue.length)}`}</p>
      <ul>
        {queue.map((one) => (
          <Waiting key={one.uuid} followed={followed} one={one} mayPrompt={mayPrompt} running={running} onEdit={onEdit} />
        ))}
      </ul>
    </section>
  );
}

const PATIENCE = 700;

/** True once `holds` has been true for a moment. */
function useLate(holds: boolean): boolean {
  const [late, setLate] = useState(false);
  useEffect(() => {
    if (!holds) return undefined;
    const timer = setTimeout(() => setLate(true), PATIENCE);
    return () => {
      clearTimeout(timer);
      setLate(false);
    };
  }, [holds]);
  return holds && late;
}

interface WaitingProps {
  followed: Followed;
  one: Queued;
  mayPrompt: boolean;
  running: boolean;
  onEdit(): void;
}

function Waiting({ followed, one, mayPrompt, running, onEdit }: WaitingProps) {
  const session = followed.id;
  const text = plain(one.blocks);
  const pictures = one.blocks.filter((block) => block.type === "image").length;
  const back = async (then: () => unknown) => {
    const problem = await takeBack(session, one.uuid);
    if (problem) tell(problem, "error");
    else then();
  };
  const edit = () => {
    giveBack(session, text);
    if (pictures) tell(words.picturesStay);
    onEdit();
  };
  const now = async () => {
    if (!(await sayNow(followed, text))) giveBack(session, text);
  };
  return (
    <li className="row">
      <Icon name="clock" />
      <span className="grow one-line small">
        {text}
        {pictures > 0 && <span className="soft"> · {words.picture(pictures)}</span>}
      </span>
      {mayPrompt && (
        <>
          {one.held && <Button title={words.sendHeldHelp} onClick={() => void command("send_held", { session, uuid: one.uuid })}>{words.send}</Button>}
          {running && !one.held && pictures === 0 && <Button kind="quiet" title={words.sendNowHelp} onClick={() => void back(now)}>{words.sendNow}</Button>}
          <Button kind="quiet" onClick={() => void back(edit)}>{words.editQueued}</Button>
          <Button kind="quiet" onClick={() => void back(() => undefined)}>{words.cancelQueued}</Button>
        </>
      )}
    </li>
  );
}
