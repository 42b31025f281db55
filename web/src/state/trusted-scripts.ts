// The page's Trusted Types policy for script addresses: only the service worker is allowed. Browsers without Trusted Types get a plain
// string.

import { addressOf } from "../protocol/base-path";

const ALLOWED = ["/sw.js"];

interface Policy {
  createScriptURL(address: string): unknown;
}
interface Factory {
  createPolicy(name: string, rules: { createScriptURL(address: string): string }): Policy;
}

/** Created at load time: a policy name can be used only once, so no other script can take it. */
const policy = (globalThis as { trustedTypes?: Factory }).trustedTypes?.createPolicy("handrail", { createScriptURL: checked });

export const scriptAddress = (address: string): string => (policy ? policy.createScriptURL(address) : checked(address)) as string;

function checked(address: string): string {
  if (!ALLOWED.includes(address)) throw new TypeError(`script address ${address} is not allowed`);
  return addressOf(address);
}
