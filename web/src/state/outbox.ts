// Images attached to the next message of a session. They are checked and uploaded at once; a rejected file is reported before anything is
// sent.

import { create } from "zustand";

import { reasonOf, upload } from "../protocol/api";
import { newId } from "../protocol/socket";
import { strings } from "../strings";
import { onForget } from "./forget";
import { tell } from "./notices";

export interface Picture {
  key: string;
  name: string;
  size: number;
  /** Object URL for the preview. */
  shown: string;
  /** The id of the upload; "" while uploading. */
  id: string;
}

const words = strings.composer;
export const TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/** The server's limits in bytes: per image, and per message. */
export const LARGEST = 5 * 1024 * 1024;
const MOST_BYTES = 20 * 1024 * 1024;
export const MOST = 20;

export const useOutbox = create<{ pictures: Record<string, Picture[]> }>(() => ({ pictures: {} }));
onForget(() => {
  for (const one of Object.values(useOutbox.getState().pictures).flat()) URL.revokeObjectURL(one.shown);
  useOutbox.setState({ pictures: {} });
});
const NONE: Picture[] = [];
export const picturesOf = (session: string): Picture[] => useOutbox.getState().pictures[session] ?? NONE;

/** The image type according to the first bytes, as the file name may be wrong. */
export function typeOf(bytes: Uint8Array): string {
  const begins = (...marks: number[]) => marks.every((mark, at) => bytes[at] === mark);
  const at = (from: number, letters: string) => [...letters].every((letter, place) => bytes[from + place] === letter.charCodeAt(0));
  if (begins(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return "image/png";
  if (begins(0xff, 0xd8, 0xff)) return "image/jpeg";
  if (at(0, "GIF87a") || at(0, "GIF89a")) return "image/gif";
  return at(0, "RIFF") && at(8, "WEBP") ? "image/webp" : "";
}

/** Why a file is rejected; "" if it is accepted. Pure. */
export function refusal(name: string, size: number, type: string, others: readonly Picture[]): string {
  if (size === 0) return words.emptyImage(name);
  if (!TYPES.includes(type)) return words.wrongType(name);
  if (size > LARGEST) return words.tooLarge(name, (size / 1024 ** 2).toFixed(1));
  if (others.length >= MOST) return words.tooMany;
  return others.reduce((sum, one) => sum + one.size, size) > MOST_BYTES ? words.tooMuch : "";
}

function set(session: string, change: (known: Picture[]) => Picture[]): void {
  useOutbox.setState(({ pictures }) => ({ pictures: { ...pictures, [session]: change(pictures[session] ?? NONE) } }));
}

/** Attach files. Rejected ones are reported. */
export async function attach(session: string, files: Iterable<File>): Promise<void> {
  for (const file of files) {
    const type = typeOf(new Uint8Array(await file.slice(0, 12).arrayBuffer()));
    const why = refusal(file.name, file.size, type, picturesOf(session));
    if (why) tell(why, "error");
    else void put(session, new File([file], file.name, { type }));
  }
}

async function put(session: string, file: File): Promise<void> {
  const key = newId();
  const shown = URL.createObjectURL(file);
  set(session, (known) => [...known, { key, name: file.name, size: file.size, shown, id: "" }]);
  try {
    const id = await upload(file);
    set(session, (known) => known.map((one) => (one.key === key ? { ...one, id } : one)));
  } catch (error) {
    detach(session, key);
    tell(words.notUploaded(file.name, reasonOf(error)), "error");
  }
}

export function detach(session: string, key: string): void {
  const gone = picturesOf(session).find((one) => one.key === key);
  if (gone) URL.revokeObjectURL(gone.shown);
  set(session, (known) => known.filter((one) => one.key !== key));
}

/** Remove the images of a sent message and return them, so that they can be restored if sending fails. */
export function takePictures(session: string): Picture[] {
  const all = picturesOf(session);
  set(session, () => []);
  return all;
}

export const putBack = (session: string, pictures: Picture[]): void => set(session, (known) => [...pictures, ...known]);
