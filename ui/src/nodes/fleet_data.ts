// All nodes of a job over time: heatmap codes and outliers.

import { getFrame, jobPath } from "../api";
import { type BufferView, type Frame, type Numbers, rawValues } from "../frames";
import { job, jobStart } from "../state";
import { niceCeiling } from "../ticks";
import { type Heat, MISSING } from "./heat_image";
import { type By, requestedWindow } from "./source";

export type Ranked = {
  node: string;
  reason: string | null;
  mean: number | null;
  state: string | null;
  is_outlier: boolean;
};
/** Fleet heatmap; `top` is the value of the highest code. */
export type FleetData = {
  heat: Heat;
  nodes: string[];
  ranking: Ranked[];
  metric: string;
  unit: string;
  top: number;
};

type Header = {
  metric: string;
  unit: string | null;
  columns: { start: number; width: number; count: number };
  rows: { node: string }[];
  values: BufferView;
  ranking: Ranked[];
};

/** Values as codes from 0 to 200 for zero to `top`; missing values are 255. */
export function toCodes(values: Numbers, top: number): Uint8Array {
  const codes = new Uint8Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    codes[i] = Number.isNaN(value)
      ? MISSING
      : Math.round(Math.min(1, Math.max(0, value / top)) * 200);
  }
  return codes;
}

function highest(values: Numbers): number {
  let top = 0;
  for (const value of values) if (value > top) top = value;
  return top;
}

export function decodeFleet(frame: Frame<Header>, start: number): FleetData {
  const { columns, rows, values, metric, unit, ranking } = frame.header;
  const raw = rawValues(frame, values);
  const isPercent = values.type === "u8";
  const top = isPercent ? 100 : niceCeiling(highest(raw));
  const codes = isPercent ? (raw as Uint8Array) : toCodes(raw, top);
  return {
    heat: {
      rows: rows.length,
      columns: columns.count,
      start: columns.start - start,
      width: columns.width,
      codes,
    },
    nodes: rows.map((row) => row.node),
    ranking,
    metric,
    unit: unit ?? "",
    top,
  };
}

export async function loadFleet(
  metric: string,
  by: By,
  pixels: number,
  signal: AbortSignal,
): Promise<FleetData> {
  const start = jobStart.peek();
  const frame = await getFrame<Header>(
    jobPath(job.peek()?.job ?? "", "fleet"),
    { metric, by, ...requestedWindow(), px: pixels },
    signal,
  );
  return decodeFleet(frame, start);
}

/** Row indices of nodes, ranked or by name. */
export function fleetOrder(data: FleetData, isRanked: boolean): number[] {
  if (!isRanked) return data.nodes.map((_, i) => i);
  const indices = new Map(data.nodes.map((name, i) => [name, i]));
  return data.ranking.flatMap(({ node }) => indices.get(node) ?? []);
}

const MAX_FLEET_HEIGHT = 1000;

/** A row height that fits the fleet on about one screen. */
export function fleetRowHeight(count: number): number {
  const height = Math.min(18, 560 / Math.max(1, count));
  if (height >= 1) return Math.floor(height);
  return Math.min(1, MAX_FLEET_HEIGHT / count);
}
