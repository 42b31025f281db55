// Shortened paths. Pure.

import { visible } from "./visible";

/** The path relative to a folder, or the full path if it is outside. */
export function shorten(path: string, folder = ""): string {
  const base = folder.endsWith("/") ? folder.slice(0, -1) : folder;
  if (base && path.startsWith(`${base}/`) && !path.includes("/../")) return path.slice(base.length + 1);
  return path;
}

/** The last component of a path, with deceptive characters spelled out. */
export const baseName = (path: string): string => visible(path.replace(/[/\\]+$/, "").split(/[/\\]/).at(-1) || path, true);
