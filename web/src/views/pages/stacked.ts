// Cumulative sums of series, for a stacked chart. Pure.

export function stacked(series: readonly (readonly number[])[]): number[][] {
  let below: number[] = [];
  return series.map((values) => (below = values.map((value, at) => value + (below[at] ?? 0))));
}
