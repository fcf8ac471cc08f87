// Data of one node over the window, in as few questions as there are kinds of answer.

import { computed, type ReadonlySignal } from "@preact/signals";
import { getFrame, getJson, jobPath, type MetricDocument, type SeriesHeader } from "../api";
import { type Frame, type Part, partValues, rawPart } from "../frames";
import { askedView, job, jobStart } from "../state";
import type { Heat } from "./heat_image";

export type Curve = {
  key: string;
  unit: string;
  low: Float64Array;
  mean: Float64Array;
  high: Float64Array;
};
/** Curves at the same moments, in seconds since the start. */
export type Curves = { x: Float64Array; byKey: ReadonlyMap<string, Curve> };

export type Asked = { t0: number; t1: number };

/** The asked window in Unix seconds; reading it makes a question depend on it. */
export function askedWindow(): Asked {
  const [from, to] = askedView.value;
  return { t0: jobStart.value + from, t1: jobStart.value + to };
}

/** The asked window and a little more, so that lines go on to the edges of the chart. */
function widened({ t0, t1 }: Asked): Asked {
  const more = Math.max((t1 - t0) * 0.01, 2 * (job.peek()?.interval_seconds ?? 0.5));
  return { t0: Math.max(jobStart.peek(), t0 - more), t1: t1 + more };
}

export async function loadSeries(
  node: string,
  keys: readonly string[],
  pixels: number,
  signal: AbortSignal,
): Promise<Curves> {
  if (!keys.length) return { x: new Float64Array(0), byKey: new Map() };
  const name = job.peek()?.job ?? "";
  const start = jobStart.peek();
  const frame = await getFrame<SeriesHeader>(
    jobPath(name, "series"),
    { node, keys: keys.join(","), ...widened(askedWindow()), px: pixels },
    signal,
  );
  return decodeCurves(frame, start);
}

export function decodeCurves(frame: Frame<SeriesHeader>, start: number): Curves {
  const x = partValues(frame, frame.header.x).map((at) => at - start);
  const byKey = new Map<string, Curve>();
  for (const { key, unit, parts } of frame.header.series) {
    byKey.set(key, {
      key,
      unit,
      low: partValues(frame, parts.min),
      mean: partValues(frame, parts.mean),
      high: partValues(frame, parts.max),
    });
  }
  return { x, byKey };
}

export type By = "mean" | "max" | "min";
type Columns = { start: number; width: number; count: number };
export type HeatRow = { device: string; kind: "cpu" | "gpu" };
type HeatHeader = { columns: Columns; rows: HeatRow[]; values: Part };
export type NodeHeat = { heat: Heat; devices: HeatRow[] };

export function decodeHeat(
  frame: Frame<{ columns: Columns; values: Part }>,
  rows: number,
  start: number,
): Heat {
  const { columns, values } = frame.header;
  return {
    rows,
    columns: columns.count,
    start: columns.start - start,
    width: columns.width,
    codes: rawPart(frame, values) as Uint8Array,
  };
}

export async function loadHeat(
  node: string,
  by: By,
  pixels: number,
  signal: AbortSignal,
): Promise<NodeHeat> {
  const name = job.peek()?.job ?? "";
  const start = jobStart.peek();
  const frame = await getFrame<HeatHeader>(
    jobPath(name, "heat"),
    { node, by, ...askedWindow(), px: pixels },
    signal,
  );
  return { heat: decodeHeat(frame, frame.header.rows.length, start), devices: frame.header.rows };
}

export function loadMetrics(node: string, signal?: AbortSignal): Promise<MetricDocument[]> {
  return getJson<MetricDocument[]>(jobPath(job.peek()?.job ?? "", "metrics"), { node }, signal);
}

/** The sum of curves, for what adds up, such as traffic of all interfaces. */
export function summed(curves: readonly Curve[]): Float64Array | null {
  const first = curves[0];
  if (!first) return null;
  if (curves.length === 1) return first.mean;
  const total = new Float64Array(first.mean.length).fill(NaN);
  for (const { mean } of curves)
    for (let i = 0; i < mean.length; i++) {
      const value = mean[i]!;
      if (!Number.isNaN(value)) total[i] = (Number.isNaN(total[i]!) ? 0 : total[i]!) + value;
    }
  return total;
}

/** A signal that counts pixels only in steps, so that a few more do not ask anew. */
export function coarsePixels(
  width: ReadonlySignal<number>,
  margins: number,
): ReadonlySignal<number> {
  return computed(() => Math.max(100, Math.round((width.value - margins) / 50) * 50));
}
