// Line icons. They are hidden from screen readers: a word beside the icon or a label carries the meaning.

const PATHS = {
  menu: "M3 5h14M3 10h14M3 15h14",
  close: "M5 5l10 10M15 5L5 15",
  sidebar: "M3 4h14v12H3zM8 4v12",
  plus: "M10 4v12M4 10h12",
  send: "M10 16V4M5 9l5-5 5 5",
  stop: "M6 6h8v8H6z",
  search: "M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12zM13.5 13.5L17 17",
  gear: "M10 13a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM10 2v3M10 15v3M2 10h3M15 10h3M4.3 4.3l2.2 2.2M13.5 13.5l2.2 2.2M15.7 4.3l-2.2 2.2M6.5 13.5l-2.2 2.2",
  chart: "M4 16V9M10 16V4M16 16v-5M2 16h16",
  device: "M6 2h8v16H6zM9 15h2",
  machine: "M3 4h14v5H3zM3 11h14v5H3zM6 6.5h.01M6 13.5h.01",
  chevron: "M7 5l5 5-5 5",
  down: "M5 8l5 5 5-5",
  check: "M4 10.5l4 4 8-9",
  cross: "M5.5 5.5l9 9M14.5 5.5l-9 9",
  dot: "M10 10h.01",
  diff: "M5 2h7l3 3v13H5zM10 6v4M8 8h4M8 14h4",
  more: "M4.5 10h.2M9.9 10h.2M15.3 10h.2",
  archive: "M3 4h14v4H3zM4.5 8v8h11V8M8 11h4",
  download: "M10 3v10M6 9l4 4 4-4M4 17h12",
  trash: "M4 6h12M8 6V3h4v3M6 6l1 11h6l1-11",
  bell: "M5 14V9a5 5 0 0 1 10 0v5l1.5 1.5h-13zM8.5 18h3",
  file: "M5 2h7l3 3v13H5zM12 2v3h3",
  edit: "M4 16l1-4 8-8 3 3-8 8zM11.5 5.5l3 3",
  terminal: "M3 4h14v12H3zM6 8l2.5 2L6 12M10 13h4",
  globe: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM3 10h14M10 3c2.5 2 2.5 12 0 14M10 3c-2.5 2-2.5 12 0 14",
  list: "M7 5h10M7 10h10M7 15h10M3.5 5h.01M3.5 10h.01M3.5 15h.01",
  robot: "M5 8h10v8H5zM10 8V4M10 4h.01M8 12h.01M12 12h.01M3 11v3M17 11v3",
  question: "M7.5 7.5a2.5 2.5 0 1 1 3.5 2.3c-.7.3-1 .8-1 1.7M10 15h.01",
  plan: "M5 3h10v14H5zM8 7h4M8 10h4M8 13h2",
  plug: "M7 3v4M13 3v4M5 7h10v3a5 5 0 0 1-10 0zM10 15v3",
  book: "M4 4h5a2 2 0 0 1 1 1 2 2 0 0 1 1-1h5v12h-5a2 2 0 0 0-1 1 2 2 0 0 0-1-1H4zM10 5v11",
  clock: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 6v4l3 2",
  folder: "M3 5h5l2 2h7v9H3z",
  fork: "M6 6.5v7M6 6.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM6 17.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM14 8.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM14 8.5c0 3.5-8 2-8 5",
  image: "M3 4h14v12H3zM3 14l4-4 4 4 2-2 4 4M13 8h.01",
  copy: "M7 7h9v9H7zM4 13V4h9",
  undo: "M7 5L3 9l4 4M3 9h9a5 5 0 0 1 0 10h-2",
  brain: "M8 4a3 3 0 0 0-3 3 3 3 0 0 0 0 6 3 3 0 0 0 5 2V5a2 2 0 0 0-2-1zM12 4a3 3 0 0 1 3 3 3 3 0 0 1 0 6 3 3 0 0 1-5 2",
  bolt: "M11 2L4 11h5l-1 7 7-9h-5z",
  warning: "M10 3l8 14H2zM10 8v4M10 14.5h.01",
  shield: "M10 2l6 2v5c0 4-2.5 7-6 9-3.5-2-6-5-6-9V4z",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 20 20" fill="none" stroke="currentColor" strokeWidth="1.6" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
