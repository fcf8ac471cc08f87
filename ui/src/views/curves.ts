// The columns of a line chart, as its drawing needs them.

import type { LineSpec } from "../specs";

export type CurveTable = {
  /** The axis, then high and low of each curve that has a band, then the curves. */
  columns: (number | null)[][];
  shown: { label: string; place: number; tone: string; hasBand: boolean; hasMarkers: boolean }[];
  extent: [number, number];
};

export function curveTable(spec: LineSpec, hidden: ReadonlySet<string>): CurveTable {
  const x = spec.x.map((one) => one ?? 0);
  const shown = spec.curves
    .map((curve, place) => ({ curve, place }))
    .filter(({ curve }) => !hidden.has(curve.label));
  const bands = shown.filter(({ curve }) => curve.low !== null && curve.high !== null);
  const [first = 0, last = 1] = [x[0], x[x.length - 1]];
  return {
    columns: [
      x,
      ...bands.flatMap(({ curve }) => [curve.high ?? [], curve.low ?? []]),
      ...shown.map(({ curve }) => curve.values),
    ],
    shown: shown.map(({ curve, place }) => ({
      label: curve.label,
      place,
      tone: curve.tone,
      hasBand: curve.low !== null && curve.high !== null,
      hasMarkers: curve.has_markers === true,
    })),
    extent: last > first ? [first, last] : [first - 0.5, first + 0.5],
  };
}

/** Whether every value that is drawn has a logarithm. */
export function isPositive(table: CurveTable): boolean {
  return table.columns
    .slice(1)
    .every((column) => column.every((value) => value === null || value > 0));
}

/** The ends of the value axis: as told, else what is in sight, with zero where it is near. */
export function valueAxis(
  ends: Pick<LineSpec, "low" | "high">,
  least: number | null,
  most: number | null,
  isLogarithmic: boolean,
): [number, number] {
  if (least === null || most === null)
    return isLogarithmic ? [1, 10] : [ends.low ?? 0, ends.high ?? 1];
  if (isLogarithmic) return [least / 1.2, most * 1.2];
  const span = most - least || Math.abs(most) || 1;
  const low = ends.low ?? (least >= 0 && least < most * 0.6 ? 0 : least - span * 0.05);
  const high = ends.high ?? most + span * 0.05;
  return high > low ? [low, high] : [low, low + 1];
}

export type Read = { label: string; x: number; value: number | null };

/** What each curve has at an index; without one, the last that it has, wherever that is. */
export function valuesAt(spec: LineSpec, table: CurveTable, index: number | null): Read[] {
  const isInside = index !== null && index >= 0 && index < spec.x.length;
  return table.shown.flatMap(({ label, place }) => {
    const curve = spec.curves[place]?.values ?? [];
    const at = isInside ? index : curve.findLastIndex((value) => value !== null);
    return at < 0 ? [] : [{ label, x: spec.x[at] ?? 0, value: curve[at] ?? null }];
  });
}
