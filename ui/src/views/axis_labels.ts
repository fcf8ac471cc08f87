// Axis labels: distinct texts, with plain units only on the last tick.

import { cellText } from "../cells";
import { formatTick } from "../format";

const PREFIXED = ["percent", "bytes", "bytes_per_second", "seconds", "time"];

/** A label per tick; null ticks have none. */
export function axisLabels(ticks: readonly (number | null)[], unit: string): string[] {
  const isPlain = !PREFIXED.includes(unit);
  const short = ticks.map((at) => (at === null ? "" : cellText(at, isPlain ? "" : unit)));
  const labeled = short.filter(Boolean);
  const texts =
    new Set(labeled).size === labeled.length
      ? short
      : ticks.map((at) => (at === null ? "" : formatTick(at, isPlain ? "" : unit)));
  if (!isPlain || !unit) return texts;
  const last = ticks.reduce<number>((best, at, index) => (at !== null ? index : best), -1);
  return texts.map((text, index) =>
    index === last ? cellText(1, unit).replace(/^1/, text) : text,
  );
}
