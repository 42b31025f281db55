// The one policy of the page for addresses of scripts: our own worker and nothing else. Browsers without Trusted Types take the text.

const ALLOWED = ["/sw.js"];

interface Policy {
  createScriptURL(address: string): unknown;
}
interface Factory {
  createPolicy(name: string, rules: { createScriptURL(address: string): string }): Policy;
}

/** Made at once: a name that is taken cannot be taken by anybody else. */
const policy = (globalThis as { trustedTypes?: Factory }).trustedTypes?.createPolicy("handrail", { createScriptURL: checked });

export const scriptAddress = (address: string): string => (policy ? policy.createScriptURL(address) : checked(address)) as string;

function checked(address: string): string {
  if (!ALLOWED.includes(address)) throw new TypeError(`${address} is no script of this page`);
  return address;
}
