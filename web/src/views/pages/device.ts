// A device that may come in. In: what the server tells of it. Out: the same, read with care. Pure.

import { number, text, texts, type Json } from "../../protocol/wire";
import { visible } from "../../ui/visible";

/** What a device may do, from the least to the most. */
export const SCOPES = ["view", "prompt", "approve", "admin"] as const;

export interface Device {
  id: string;
  name: string;
  kind: string;
  scopes: string[];
  created: number;
  seen: number;
  isThis: boolean;
}

export const deviceOf = (one: Json): Device => ({
  id: text(one["id"]),
  name: visible(text(one["name"]), true),
  kind: text(one["kind"]),
  scopes: SCOPES.filter((scope) => texts(one["scopes"]).includes(scope)),
  created: number(one["created"]),
  seen: number(one["seen"]),
  isThis: one["this"] === true,
});
