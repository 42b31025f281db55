// Figures on top of each other. In: series. Out: each with those before it below. Pure.

export function stacked(series: readonly (readonly number[])[]): number[][] {
  let below: number[] = [];
  return series.map((values) => (below = values.map((value, at) => value + (below[at] ?? 0))));
}
