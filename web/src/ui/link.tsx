// A link in untrusted text. Only web and mail addresses are linked, nothing is followed automatically, and the real host is shown if the
// link text names another.

import type { ReactNode } from "react";

import { strings } from "../strings";
import { VisibleText } from "./visible-text";

const SCHEMES = ["http:", "https:", "mailto:"];

/** The target of an address, or null if it must not be linked. */
export function target(address: string): URL | null {
  try {
    const url = new URL(address.trim());
    return SCHEMES.includes(url.protocol) ? url : null;
  } catch {
    return null; // relative addresses cannot be resolved here
  }
}

/** The target in short: its host. */
const placeOf = (url: URL): string => url.host || url.pathname.slice(0, 200);

/** Whether the link text already names the target. Compared literally: other alphabets have lookalike letters, and text before an @ is
 *  not the host. */
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
