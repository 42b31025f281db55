// Events as they are held. In: an event. Out: the same, without what was said before: a result repeats the whole answer. Pure.

import type { Event } from "../protocol/messages";

/** Of a turn that went well the result's text stands in the conversation already; of one that failed it says why. */
export function slim(event: Event): Event {
  const { data } = event;
  if (event.kind !== "frame" || data?.["type"] !== "result" || data["is_error"] === true || typeof data["result"] !== "string") return event;
  const { result: _said, ...rest } = data;
  return { ...event, data: rest };
}
