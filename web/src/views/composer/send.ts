// Sending. In: what stands in the composer. Out: it is on its way, or back where it was.

import { reasonOf, Refused } from "../../protocol/api";
import type { Commands } from "../../protocol/messages";
import { UNANSWERED } from "../../protocol/socket";
import { text as textOf } from "../../protocol/wire";
import { ask, command, socket } from "../../state/bridge";
import { draftOf, giveBack, setDraft } from "../../state/drafts";
import type { Followed } from "../../state/followed";
import { saidHere } from "../../state/jump";
import { tell } from "../../state/notices";
import { picturesOf, putBack, takePictures, type Picture } from "../../state/outbox";
import { strings } from "../../strings";
import { runOwn } from "./own-commands";

const words = strings.composer;

type Fields = Commands["send"]["fields"];

/** Say it. Out: the id of the message; "" where it came back. */
async function say(fields: Fields): Promise<string> {
  try {
    return textOf((await ask("send", fields))["uuid"]) || "said";
  } catch (error) {
    tell(error instanceof Refused && error.code === UNANSWERED ? words.unsure : reasonOf(error), "error");
    return "";
  }
}

const A_MOMENT = 800;

/** Say it before all that waits, and let what runs end for it. Some CLIs end it by themselves; where that does not happen, it is stopped. */
export async function sayNow(followed: Followed, text: string): Promise<boolean> {
  const uuid = await say({ session: followed.id, text, priority: "now" });
  if (!uuid) return false;
  setTimeout(() => {
    const { queue, turn } = followed.use.getState().state;
    if (turn.running && queue.some((one) => one.uuid === uuid)) void command("interrupt", { session: followed.id });
  }, A_MOMENT);
  return true;
}

export const isEmpty = (text: string, pictures: readonly Picture[]): boolean => text.trim() === "" && pictures.length === 0;

/** Is there something to send, and all of it uploaded? */
export const isReady = (text: string, pictures: readonly Picture[]): boolean => !isEmpty(text, pictures) && pictures.every((one) => one.id);

/** Send what is written. The field is empty at once; what cannot be sent comes back. */
export async function sendDraft(session: string): Promise<void> {
  const text = draftOf(session);
  if (!isReady(text, picturesOf(session))) return;
  if (picturesOf(session).length === 0 && runOwn(text)) return setDraft(session, "");
  const pictures = takePictures(session);
  saidHere(session);
  setDraft(session, "");
  if (await say({ session, text, images: pictures.map((one) => one.id) })) {
    for (const one of pictures) URL.revokeObjectURL(one.shown);
    return undefined;
  }
  giveBack(session, text);
  return putBack(session, pictures);
}

/** Take back a message that waits. Out: false where the model has it already. */
export async function takeBack(session: string, uuid: string): Promise<boolean> {
  try {
    return (await socket.command("cancel_queued", { session, uuid }))["cancelled"] === true;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return false;
  }
}
