// Numbers formatted for people.

/** 12,345 */
export const whole = (count: number): string => Math.round(count).toLocaleString("en");

/** 940, 12.3k, 1.2M */
export function short(count: number): string {
  if (count < 1000) return String(Math.round(count));
  const [size, mark] = count < 999_500 ? [1000, "k"] : [1_000_000, "M"];
  const value = count / size;
  return `${value < 10 ? value.toFixed(1).replace(/\.0$/, "") : Math.round(value)}${mark}`;
}

/** 940 B, 1.2 KiB, 34 MiB, 2.1 GiB */
export function bytes(count: number): string {
  const size = SIZES.find(([unit]) => count >= unit) ?? SIZES.at(-1)!;
  const value = count / size[0];
  return `${value < 10 && size[0] > 1 ? value.toFixed(1).replace(/\.0$/, "") : Math.round(value)} ${size[1]}`;
}
const SIZES = [[1024 ** 4, "TiB"], [1024 ** 3, "GiB"], [1024 ** 2, "MiB"], [1024, "KiB"], [1, "B"]] as const;

/** $0.0012, $0.12, $12.30 */
export const dollars = (amount: number): string => `$${amount.toFixed(amount > 0 && amount < 0.1 ? 4 : 2)}`;

/** For the scale of a chart: $0, $0.25, $12, $1.2k */
export const shortDollars = (amount: number): string => `$${amount < 1 ? Number(amount.toPrecision(2)) : short(amount)}`;

/** A share from 0 to 100 without decimals; 0 and 100 only if exact. */
export function percent(part: number, all: number): number {
  if (all <= 0 || part <= 0) return 0;
  if (part >= all) return 100;
  return Math.min(99, Math.max(1, Math.round((100 * part) / all)));
}

/** The same in words: "34 %", "<1 %". */
export const portion = (part: number, all: number): string => (part > 0 && part < all / 200 ? "<1 %" : `${percent(part, all)} %`);

/** 0.4 s, 12 s, 3 min 5 s, 2 h 4 min */
export function span(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

export const clock = (time: number): string => new Date(time).toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hour12: false });
