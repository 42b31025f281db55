// A bar that shows how full something is, in one part or several, with a text value for screen readers.

import "./gauge.css";

interface Props {
  label: string;
  percent: number;
  /** Sizes in tokens; without them the bar has one part. */
  parts?: { name: string; size: number }[];
  total?: number;
  full?: boolean;
}

export const SHADES = 7;
/** Percentage above which little room is left. */
export const FULL = 80;

export function Gauge({ label, percent, parts, total = 0, full = false }: Props) {
  return (
    <span className={full ? "gauge full" : "gauge"} role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={percent} aria-valuetext={`${percent} %`}>
      {parts && total > 0 ? (
        parts.map((part, at) => <span key={part.name} className={`shade-${at % SHADES}`} title={part.name} style={{ width: `${(100 * part.size) / total}%` }} />)
      ) : (
        <span className="gauge-fill" style={{ width: `${percent}%` }} />
      )}
    </span>
  );
}
