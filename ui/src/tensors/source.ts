// Requests for tensors: names, statistics over steps, histograms, values and layers.

import { getFrame, getJson, jobPath } from "../api";
import { type BufferView, rawValues, scaledValues } from "../frames";
import { job } from "../state";

export type TensorInfo = {
  name: string;
  collections: string[];
  dtype: string;
  shape: number[];
  workers: number;
  is_shard: boolean;
  note: string;
};
export type TensorNames = {
  collections: { name: string; count: number }[];
  reductions: string[];
  total: number;
  tensors: TensorInfo[];
};
export type TensorSeries = {
  name: string;
  worker: number | null;
  steps: number[];
  values: (number | null)[];
  low?: (number | null)[];
  high?: (number | null)[];
};
export type Statistics = { reduction: string; mode: string; series: TensorSeries[] };

const path = (...parts: string[]): string => jobPath(job.peek()?.job ?? "", "tensors", ...parts);

export const loadNames = (signal: AbortSignal): Promise<TensorNames> =>
  getJson<TensorNames>(path(), {}, signal);

export function loadStatistics(
  names: readonly string[],
  reduction: string,
  mode: string,
  signal: AbortSignal,
): Promise<Statistics> {
  return getJson<Statistics>(
    path("statistics"),
    { names: names.join("\n"), reduction, mode, px: 1000 },
    signal,
  );
}

type HistogramsHeader = {
  name: string;
  steps: number[];
  edges: number[];
  zeros: number[];
  merged: number;
  counts: BufferView;
};
/** Counts of `bins` bins per step, concatenated. */
export type Histograms = {
  name: string;
  steps: number[];
  edges: number[];
  zeros: number[];
  merged: number;
  bins: number;
  counts: ArrayLike<number>;
};

export async function loadHistograms(
  name: string,
  mode: string,
  signal: AbortSignal,
): Promise<Histograms> {
  const frame = await getFrame<HistogramsHeader>(
    path("histograms"),
    { name, mode, px: 600 },
    signal,
  );
  const { header } = frame;
  return {
    ...header,
    bins: Math.max(0, header.edges.length - 1),
    counts: rawValues(frame, header.counts),
  };
}

export type Mark = { rule: string; severity: string; message: string };
type LayersHeader = {
  reduction: string;
  names: string[];
  total: number;
  steps: number[];
  merged: number;
  marks: Record<string, Mark[]>;
  values: BufferView;
};
/** A row per tensor, a column per step; missing values are NaN. */
export type Layers = {
  reduction: string;
  names: string[];
  total: number;
  steps: number[];
  merged: number;
  marks: Record<string, Mark[]>;
  values: Float64Array;
};

export async function loadLayers(
  query: { collection: string; reduction: string; mode: string; search: string },
  px: number,
  signal: AbortSignal,
): Promise<Layers> {
  const frame = await getFrame<LayersHeader>(path("layers"), { ...query, px }, signal);
  return { ...frame.header, values: scaledValues(frame, frame.header.values) };
}

export type Figures = {
  count: number;
  zeros: number;
  nans: number;
  infinities: number;
  minimum?: number;
  maximum?: number;
  mean?: number;
  std?: number;
  l2_norm?: number;
};
export type ValueCell = number | string;
export type TensorValue = {
  name: string;
  step: number;
  steps: number[];
  dtype: string;
  shape: number[];
  rows: number;
  columns: number;
  figures: Figures;
  picture: { rows: number; columns: number; values: ValueCell[] };
  table: { row: number; column: number; values: ValueCell[][] };
};
export type ValueQuery = {
  name: string;
  mode: string;
  step: number | null;
  row: number;
  column: number;
  worker: string;
};

export function loadValueSteps(
  name: string,
  mode: string,
  worker: string,
  signal: AbortSignal,
): Promise<{ steps: number[] }> {
  return getJson(path("value"), { name, mode, worker }, signal);
}

export function loadValue(query: ValueQuery, signal: AbortSignal): Promise<TensorValue> {
  return getJson<TensorValue>(path("value"), { ...query }, signal);
}
