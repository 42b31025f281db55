// HTTP requests to the server. Each returns the decoded answer or throws a Refused with the reason.

import { addressOf } from "./base-path";

/** The server refused the request, or could not be reached (status 0). */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** The message of an error. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export async function request<Answer>(path: string, options: RequestInit = {}): Promise<Answer> {
  let answer: Response;
  try {
    answer = await fetch(addressOf(path), { credentials: "same-origin", ...options });
  } catch {
    throw new Refused(0, "unreachable", "the server cannot be reached");
  }
  const fields = (await answer.json().catch(() => ({}))) as { error?: { code?: string; message?: string } };
  if (!answer.ok) throw new Refused(answer.status, fields.error?.code ?? "", fields.error?.message ?? `the server said ${answer.status}`);
  return fields as Answer;
}

export const get = <Answer>(path: string) => request<Answer>(path);
export const send = <Answer>(method: "POST" | "PUT" | "PATCH" | "DELETE", path: string, body: unknown = {}) =>
  request<Answer>(path, { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

/** Upload an image for a message. Returns the id that `send` refers to. */
export async function upload(file: Blob): Promise<string> {
  const { id } = await request<{ id: string }>("/api/uploads", {
    method: "POST",
    headers: { "content-type": file.type },
    body: file,
  });
  return id;
}

const linkInAddress = (): string | null => new URLSearchParams(location.hash.slice(1)).get("link");
export const hasLink = (): boolean => linkInAddress() !== null;

/** Log in with the link in the address, and remove it from the address. Returns an error message, or "" on success. */
export async function logIn(): Promise<string> {
  const link = linkInAddress();
  if (!link) return "";
  history.replaceState(null, "", location.pathname);
  try {
    await send("POST", "/api/login", { link, name: deviceName() });
    return "";
  } catch (error) {
    return reasonOf(error);
  }
}

const BROWSERS = [["Edg/", "Edge"], ["Firefox/", "Firefox"], ["Chrome/", "Chrome"], ["Safari/", "Safari"]] as const;
const SYSTEMS = ["Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux"];

function deviceName(): string {
  const told = navigator.userAgent;
  const browser = BROWSERS.find(([mark]) => told.includes(mark))?.[1] ?? "Browser";
  return `${browser} on ${SYSTEMS.find((name) => told.includes(name)) ?? "some system"}`;
}
