// Requests for the data of a node in the time window.

import { computed, type ReadonlySignal } from "@preact/signals";
import { getFrame, getJson, jobPath, type MetricDocument, type SeriesHeader } from "../api";
import { type BufferView, type Frame, rawValues, scaledValues } from "../frames";
import { margins } from "../gestures";
import { job, jobStart, requestedView } from "../state";
import type { Heat } from "./heat_image";

export type Curve = {
  key: string;
  unit: string;
  low: Float64Array;
  mean: Float64Array;
  high: Float64Array;
};
/** Curves with common sample times, in seconds since the start. */
export type Curves = { x: Float64Array; byKey: ReadonlyMap<string, Curve> };

export type UnixWindow = { t0: number; t1: number };

/** The requested window in Unix seconds; reading it subscribes to changes. */
export function requestedWindow(): UnixWindow {
  const [from, to] = requestedView.value;
  return { t0: jobStart.value + from, t1: jobStart.value + to };
}

/** A slightly larger window, so that lines reach the edges of the chart. */
function widened({ t0, t1 }: UnixWindow): UnixWindow {
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
    { node, keys: keys.join(","), ...widened(requestedWindow()), px: pixels },
    signal,
  );
  return decodeCurves(frame, start);
}

export function decodeCurves(frame: Frame<SeriesHeader>, start: number): Curves {
  const x = scaledValues(frame, frame.header.x).map((at) => at - start);
  const byKey = new Map<string, Curve>();
  for (const { key, unit, parts } of frame.header.series) {
    byKey.set(key, {
      key,
      unit,
      low: scaledValues(frame, parts.min),
      mean: scaledValues(frame, parts.mean),
      high: scaledValues(frame, parts.max),
    });
  }
  return { x, byKey };
}

export type By = "mean" | "max" | "min";
type Columns = { start: number; width: number; count: number };
export type HeatRow = { device: string; kind: "cpu" | "gpu" };
type HeatHeader = { columns: Columns; rows: HeatRow[]; values: BufferView };
export type NodeHeat = { heat: Heat; devices: HeatRow[] };

export function decodeHeat(
  frame: Frame<{ columns: Columns; values: BufferView }>,
  rows: number,
  start: number,
): Heat {
  const { columns, values } = frame.header;
  return {
    rows,
    columns: columns.count,
    start: columns.start - start,
    width: columns.width,
    codes: rawValues(frame, values) as Uint8Array,
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
    { node, by, ...requestedWindow(), px: pixels },
    signal,
  );
  return { heat: decodeHeat(frame, frame.header.rows.length, start), devices: frame.header.rows };
}

export function loadMetrics(node: string, signal?: AbortSignal): Promise<MetricDocument[]> {
  return getJson<MetricDocument[]>(jobPath(job.peek()?.job ?? "", "metrics"), { node }, signal);
}

/** The sum of curves, such as the traffic of all interfaces. */
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

/** The width in steps of 50 pixels, so that small resizes do not reload data. */
export function coarsePixels(width: ReadonlySignal<number>): ReadonlySignal<number> {
  return computed(() => Math.max(100, Math.round(margins(width.value).plot / 50) * 50));
}
