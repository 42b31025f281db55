// The model's questions, the user's choices, and the answers made from them. Pure.

import { object, objects, text, type Json } from "../../protocol/wire";

interface AskedOption {
  label: string;
  description: string;
  preview: string;
}

export interface AskedQuestion {
  question: string;
  header: string;
  several: boolean;
  options: AskedOption[];
}

/** The user's choices. `other`: whether the typed answer is selected. */
export interface Picked {
  labels: string[];
  other: boolean;
  words: string;
  note: string;
}

export const NOTHING: Picked = { labels: [], other: false, words: "", note: "" };

export function readAsked(told: Json[]): AskedQuestion[] {
  return told.map((one) => ({
    question: text(one["question"]),
    header: text(one["header"]) || text(one["question"]),
    several: one["multiSelect"] === true,
    options: objects(one["options"]).map((option) => ({ label: text(option["label"]), description: text(option["description"]), preview: text(option["preview"]) || text(object(option["preview"])["content"]) })),
  }));
}

const own = (picked: Picked): string => (picked.other ? picked.words.trim() : "");
const isAnswered = (picked: Picked | undefined): boolean => Boolean(picked && (picked.labels.length || own(picked)) && (!picked.other || own(picked)));

/** The questions without an answer. */
export const missing = (asked: AskedQuestion[], picked: Record<string, Picked>): AskedQuestion[] => asked.filter((one) => !isAnswered(picked[one.question]));

export function answersOf(asked: AskedQuestion[], picked: Record<string, Picked>): { answers: Record<string, string | string[]>; notes: Record<string, string> } {
  const answers: Record<string, string | string[]> = {};
  const notes: Record<string, string> = {};
  for (const { question, several } of asked) {
    const one = picked[question];
    if (!one) continue;
    const all = [...one.labels, ...(own(one) ? [own(one)] : [])];
    if (all.length) answers[question] = several ? all : all[0]!;
    if (one.note.trim()) notes[question] = one.note.trim();
  }
  return { answers, notes };
}

/** Toggle an option; in a single choice it replaces the previous one. */
export function pick(now: Picked, label: string, several: boolean): Picked {
  if (!several) return { ...now, labels: [label], other: false };
  return { ...now, labels: now.labels.includes(label) ? now.labels.filter((one) => one !== label) : [...now.labels, label] };
}

/** Toggle the typed answer. */
export const pickOther = (now: Picked, several: boolean): Picked => (several ? { ...now, other: !now.other } : { ...now, labels: [], other: true });
