// Events as kept in memory: a result loses its copy of the answer. Pure.

import type { Event } from "../protocol/messages";

/** After a successful turn the conversation already has the result's text; after a failed one the text is the reason. */
export function slim(event: Event): Event {
  const { data } = event;
  if (event.kind !== "frame" || data?.["type"] !== "result" || data["is_error"] === true || typeof data["result"] !== "string") return event;
  const { result: _said, ...rest } = data;
  return { ...event, data: rest };
}
