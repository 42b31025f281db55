// A link of somebody else's text: only to the web and to mail, never followed by itself, and with its true host where the words say another.

import type { ReactNode } from "react";

import { strings } from "../strings";
import { VisibleText } from "./visible-text";

const SCHEMES = ["http:", "https:", "mailto:"];

/** In: an address as somebody wrote it. Out: where it leads, or null where it should lead nowhere. */
export function target(address: string): URL | null {
  try {
    const url = new URL(address.trim());
    return SCHEMES.includes(url.protocol) ? url : null;
  } catch {
    return null; // no whole address: there is nothing that it could be relative to
  }
}

/** Where it leads, in the fewest words. */
const placeOf = (url: URL): string => url.host || url.pathname.slice(0, 200);

/** Do the words themselves say where it leads? Letter by letter: those of other alphabets look the same, and what stands before an @ is no host. */
function says(words: string, url: URL): boolean {
  const said = words.trim();
  if (url.protocol === "mailto:") return said === placeOf(url) || said === `mailto:${url.pathname}`;
  const whole = `${url.protocol}//${url.host}`;
  return said === url.host || said === whole || (said.startsWith(whole) && "/?#".includes(said[whole.length]!));
}

export function Link({ address, words, children }: { address: string; words: string; children?: ReactNode }) {
  const url = target(address);
  const shown = children ?? <VisibleText text={words} />;
  if (!url) {
    return (
      <span className="no-link">
        {shown}
        {address && address !== words && <span className="soft"> (<VisibleText text={address} />)</span>}
      </span>
    );
  }
  return (
    <>
      <a href={url.href} target="_blank" rel="noopener noreferrer nofollow" title={url.href} aria-label={says(words, url) ? undefined : strings.tools.linkTo(words, placeOf(url))}>
        {shown}
      </a>
      {!says(words, url) && <span className="soft link-place"> ({placeOf(url)})</span>}
    </>
  );
}
