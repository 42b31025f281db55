// Texts of the inspector.

import { whole } from "./figures";

export const inspector = {
  meaning: "The raw frames between the server and the CLI, for debugging.",
  source: "Source",
  sources: { wire: "Frames of the running process", events: "Persisted events" },
  needsAdmin: "Raw frames may contain secrets and need the Administer scope. Persisted events are shown instead.",
  unavailable: (why: string) => `Frames could not be loaded: ${why}`,
  filter: "Filter by text or type",
  direction: "Direction",
  directions: { "": "Both directions", to_cli: "To the CLI", from_cli: "From the CLI", bridge: "From the server itself" } as Record<string, string>,
  arrows: { to_cli: "to the CLI", from_cli: "from the CLI", bridge: "bridge" } as Record<string, string>,
  stream: "Include stream events",
  pause: "Pause",
  go: "Resume",
  count: (shown: number, all: number) => (shown === all ? `${whole(all)} lines` : `${whole(shown)} of ${whole(all)} lines`),
  none: "No frames yet.",
  loading: "Loading…",
  noMatch: "No lines match the filter.",
  dropped: (count: number) => `${whole(count)} older lines were dropped.`,
  recording: "Copy as recording",
  download: "Download",
  copyLine: "Copy this line",
  toAnswer: "Go to the answer",
  toRequest: "Go to the request",
  answer: "answer",
  request: "request",
  list: "Frames",
};
