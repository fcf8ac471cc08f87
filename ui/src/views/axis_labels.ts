// The marks of an axis as text: each tells more than its neighbour, and a plain unit stands once.

import { cellText } from "../cells";

const PREFIXED = ["percent", "bytes", "bytes_per_second", "seconds", "time"];

/** A label per mark; null marks have none. */
export function axisLabels(marks: readonly (number | null)[], unit: string): string[] {
  const isPlain = !PREFIXED.includes(unit);
  const words = marks.map((at) => (at === null ? "" : cellText(at, isPlain ? "" : unit)));
  const known = words.filter(Boolean);
  const texts =
    new Set(known).size === known.length
      ? words
      : marks.map((at) => (at === null ? "" : exact(at, unit, isPlain)));
  if (!isPlain || !unit) return texts;
  const last = marks.reduce<number>((best, at, index) => (at !== null ? index : best), -1);
  return texts.map((text, index) =>
    index === last ? cellText(1, unit).replace(/^1/, text) : text,
  );
}

function exact(at: number, unit: string, isPlain: boolean): string {
  const text = String(Number(at.toPrecision(6)));
  return isPlain ? text : `${text} ${unit}`;
}
