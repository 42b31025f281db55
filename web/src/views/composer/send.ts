// Sends the draft. A message that is refused returns to the message field.

import { reasonOf } from "../../protocol/api";
import type { Commands } from "../../protocol/messages";
import { text as textOf } from "../../protocol/wire";
import { ask, command, reportMessage, socket } from "../../state/bridge";
import { draftOf, giveBack, setDraft } from "../../state/drafts";
import type { Followed } from "../../state/followed";
import { saidHere } from "../../state/jump";
import { picturesOf, putBack, takePictures, type Picture } from "../../state/outbox";
import { strings } from "../../strings";
import { runOwn } from "./own-commands";

const words = strings.composer;

type Fields = Commands["send"]["fields"];

/** Returns the uuid of the message, or "" if it was not sent. */
async function say(fields: Fields): Promise<string> {
  try {
    return textOf((await ask("send", fields))["uuid"]) || "said";
  } catch (error) {
    reportMessage(error);
    return "";
  }
}

/** Stop the turn. Queued messages wait until the user sends or cancels them. */
export const stopTurn = (session: string): void => void command("interrupt", { session, hold: true });

const A_MOMENT = 800;

/** Send a message ahead of the queue and end the running turn. Some CLIs end it themselves; otherwise it is interrupted. */
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

/** There is something to send, and every image is uploaded. */
export const isReady = (text: string, pictures: readonly Picture[]): boolean => !isEmpty(text, pictures) && pictures.every((one) => one.id);

/** Send the draft. The field is cleared at once; a refused message returns to it. */
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

/** Cancel a queued message. Returns why it was not cancelled; "" if it was. */
export async function takeBack(session: string, uuid: string): Promise<string> {
  try {
    return (await socket.command("cancel_queued", { session, uuid }))["cancelled"] === true ? "" : words.begun;
  } catch (error) {
    return reasonOf(error);
  }
}
