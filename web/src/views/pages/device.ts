// Decodes a device from the server's answer. Pure.

import { number, text, texts, type Json } from "../../protocol/wire";
import { visible } from "../../ui/visible";

/** The scopes, each including those before it. */
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
