// The questions answered in this browser; their answers need no notice that names the person. The newest are kept in local storage.

import { keep, kept } from "./page";

const KEY = "answered-here";
const MOST = 300;

const ids = new Set<string>(kept(KEY).split(" ").filter(Boolean));

export const answeredHere = {
  has: (question: string): boolean => ids.has(question),
  add(question: string): void {
    ids.add(question);
    write();
  },
  delete(question: string): void {
    ids.delete(question);
    write();
  },
};

function write(): void {
  keep(KEY, [...ids].slice(-MOST).join(" "));
}
