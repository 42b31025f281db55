// A bar chart with one bar per day; a table beside it has the numbers. Redrawn when the theme changes.

import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { usePage } from "../../state/page";
import { useMedia } from "../../ui/use-media";
import { stacked } from "./stacked";

interface Series {
  label: string;
  /** A token of styles/tokens.css. */
  colour: string;
  values: number[];
}

interface Props {
  label: string;
  days: string[];
  /** Stacked from the bottom up. */
  series: Series[];
  words(value: number): string;
}

const HEIGHT = 180;
/** Seconds added at both ends, so that the first and last bars are complete. */
const HALF_DAY = 43_200;

/** The current value of a token, as a canvas does not resolve CSS variables. */
function colourOf(token: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${token})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

export function UsageChart({ label, days, series, words }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const theme = usePage((page) => page.theme);
  const isDark = useMedia("(prefers-color-scheme: dark)");
  useEffect(() => {
    const element = box.current!;
    const times = days.map((day) => Date.parse(`${day}T00:00:00Z`) / 1000);
    // Drawn from the tallest to the shortest: each covers the lower part of the one before.
    const sums = stacked(series.map((one) => one.values)).toReversed();
    const plot = new uPlot(optionsOf({ series: series.toReversed(), words }, element.clientWidth), [times, ...sums], element);
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      plot.destroy();
    };
  }, [days, series, words, theme, isDark]);
  return <div ref={box} className="usage-chart" role="img" aria-label={label} />;
}

function optionsOf({ series, words }: Pick<Props, "series" | "words">, width: number): uPlot.Options {
  const axis = { stroke: colourOf("--ink-soft"), grid: { stroke: colourOf("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
    scales: { x: { range: (_, first, last) => [first - HALF_DAY, last + HALF_DAY] }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
    axes: [
      { ...axis, grid: { show: false }, space: 56, values: (_, times) => times.map((time) => new Date(time * 1000).toLocaleDateString("en", { day: "numeric", month: "short", timeZone: "UTC" })) },
      { ...axis, size: 64, values: (_, values) => values.map(words) },
    ],
    series: [{}, ...series.map((one) => ({ label: one.label, fill: colourOf(one.colour), width: 0, points: { show: false }, paths: uPlot.paths.bars!({ size: [0.7, 40] }) }))],
  };
}
