// Fuzzy search: names that contain the typed letters in order, best match first. Pure.

/** How well a name matches; 0 is no match. Prefixes count most, then starts of words, then adjacent letters. */
export function score(query: string, name: string): number {
  const wanted = query.toLowerCase();
  const given = name.toLowerCase();
  if (!wanted) return 1;
  if (given === wanted) return 1000;
  if (given.startsWith(wanted)) return 800 - given.length / 100;
  const inside = given.indexOf(wanted);
  if (inside >= 0) return (/[^\p{L}\p{N}]/u.test(given[inside - 1] ?? " ") ? 600 : 400) - inside / 10 - given.length / 100;
  return letters(wanted, given);
}

function letters(wanted: string, given: string): number {
  let at = -1;
  let gaps = 0;
  for (const letter of wanted) {
    if (letter === " ") continue;
    const next = given.indexOf(letter, at + 1);
    if (next < 0) return 0;
    if (at >= 0) gaps += next - at - 1;
    at = next;
  }
  return Math.max(1, 200 - gaps);
}

/** The best matches; equal ones keep their order. */
export function best<One>(query: string, all: readonly One[], names: (one: One) => string[], most = 50): One[] {
  const typed = query.trim();
  const scored = all.map((one) => ({ one, points: Math.max(...names(one).map((name, at) => score(typed, name) / (at + 1))) }));
  return scored
    .filter(({ points }) => points > 0)
    .toSorted((a, b) => b.points - a.points)
    .slice(0, most)
    .map(({ one }) => one);
}
