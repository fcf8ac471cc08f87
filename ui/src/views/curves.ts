// The data columns of a line chart, in drawing order.

import type { LineChartSpec } from "../generated/chart_specs";

export type CurveTable = {
  /** The axis, then high and low of each curve that has a band, then the curves. */
  columns: (number | null)[][];
  shown: { label: string; index: number; tone: string; hasBand: boolean; hasMarkers: boolean }[];
  extent: [number, number];
};

export function curveTable(spec: LineChartSpec, hidden: ReadonlySet<string>): CurveTable {
  const x = spec.x.map((value) => value ?? 0);
  const shown = spec.curves
    .map((curve, index) => ({ curve, index }))
    .filter(({ curve }) => !hidden.has(curve.label));
  const bands = shown.filter(({ curve }) => curve.low !== null && curve.high !== null);
  const [first = 0, last = 1] = [x[0], x[x.length - 1]];
  return {
    columns: [
      x,
      ...bands.flatMap(({ curve }) => [curve.high ?? [], curve.low ?? []]),
      ...shown.map(({ curve }) => curve.values),
    ],
    shown: shown.map(({ curve, index }) => ({
      label: curve.label,
      index,
      tone: curve.tone,
      hasBand: curve.low !== null && curve.high !== null,
      hasMarkers: curve.has_markers,
    })),
    extent: last > first ? [first, last] : [first - 0.5, first + 0.5],
  };
}

/** Whether all values are positive, as a logarithmic axis requires. */
export function isPositive(table: CurveTable): boolean {
  return table.columns
    .slice(1)
    .every((column) => column.every((value) => value === null || value > 0));
}

/** The ends of the value axis: as specified, or the visible range, with zero if it is near. */
export function valueAxis(
  ends: Pick<LineChartSpec, "low" | "high">,
  minimum: number | null,
  maximum: number | null,
  isLogarithmic: boolean,
): [number, number] {
  if (minimum === null || maximum === null)
    return isLogarithmic ? [1, 10] : [ends.low ?? 0, ends.high ?? 1];
  if (isLogarithmic) return [minimum / 1.2, maximum * 1.2];
  const span = maximum - minimum || Math.abs(maximum) || 1;
  const low = ends.low ?? (minimum >= 0 && minimum < maximum * 0.6 ? 0 : minimum - span * 0.05);
  const high = ends.high ?? maximum + span * 0.05;
  return high > low ? [low, high] : [low, low + 1];
}

export type Reading = { label: string; x: number; value: number | null };

/** The value of each curve at an index; without an index, its last value. */
export function valuesAt(spec: LineChartSpec, table: CurveTable, index: number | null): Reading[] {
  const isInside = index !== null && index >= 0 && index < spec.x.length;
  return table.shown.flatMap(({ label, index: curveIndex }) => {
    const curve = spec.curves[curveIndex]?.values ?? [];
    const at = isInside ? index : curve.findLastIndex((value) => value !== null);
    return at < 0 ? [] : [{ label, x: spec.x[at] ?? 0, value: curve[at] ?? null }];
  });
}
