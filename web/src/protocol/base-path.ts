// The path below which the server is reached: "" or, behind a proxy, for example "/handrail". The page itself is at that path with a
// slash, and its own places are in the fragment.

export const basePath = (): string => /^(\/.*)\/[^/]*$/.exec(location.pathname)?.[1] ?? "";

/** The address of a path of the server. */
export const addressOf = (path: string): string => `${basePath()}${path}`;
