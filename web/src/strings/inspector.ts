// Words of the inspector.

import { whole } from "./figures";

export const inspector = {
  meaning: "What the bridge and the CLI say to each other, line by line, as it is. For finding out why something happens.",
  source: "What is shown",
  sources: { wire: "Frames of the running process", events: "Events on record" },
  needsAdmin: "Raw frames may hold secrets: only a device with the right “Administer” sees them. The events on record are shown.",
  unavailable: (why: string) => `The frames cannot be read: ${why}`,
  filter: "Filter by text or type",
  direction: "Direction",
  directions: { "": "Both directions", to_cli: "To the CLI", from_cli: "From the CLI", bridge: "Of the bridge itself" } as Record<string, string>,
  arrows: { to_cli: "to the CLI", from_cli: "from the CLI", bridge: "bridge" } as Record<string, string>,
  stream: "Also each piece of text as it is written",
  pause: "Pause",
  go: "Go on",
  count: (shown: number, all: number) => (shown === all ? `${whole(all)} lines` : `${whole(shown)} of ${whole(all)} lines`),
  none: "Nothing was said yet.",
  loading: "Loading…",
  noMatch: "No line fits the filter.",
  dropped: (count: number) => `${whole(count)} older lines are no longer held.`,
  recording: "Copy as recording",
  download: "Download",
  copyLine: "Copy this line",
  toAnswer: "Go to the answer",
  toRequest: "Go to the request",
  answer: "answer",
  request: "request",
  list: "Frames",
};
