// Paths as short as they can be. Pure.

import { visible } from "./visible";

/** The path below a folder, or the whole. */
export function shorten(path: string, folder = ""): string {
  const base = folder.endsWith("/") ? folder.slice(0, -1) : folder;
  if (base && path.startsWith(`${base}/`) && !path.includes("/../")) return path.slice(base.length + 1);
  return path;
}

/** The last name of a path, as it may be shown. */
export const baseName = (path: string): string => visible(path.replace(/[/\\]+$/, "").split(/[/\\]/).at(-1) || path, true);
