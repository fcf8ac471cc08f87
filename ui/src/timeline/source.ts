// Data of a timeline window: slices of workers, coverage of narrow slices, system metrics.

import { getFrame, getJson, jobPath } from "../api";
import { type BufferView, type Frame, rawValues, scaledValues } from "../frames";
import type { Range } from "../range";
import { job } from "../state";

/** Slices of a track in order of time; `covered` has `px` codes of 0..250 per lane for slices too narrow to draw. */
export type Track = {
  title: string;
  lanes: number;
  count: number;
  narrow: number;
  starts: Float64Array;
  seconds: Float32Array;
  lane: Uint16Array;
  name: Uint32Array;
  category: Uint8Array;
  covered: Uint8Array | null;
  /** The name that covers most of each cell, of tracks with few names. */
  coveredNames: Uint32Array | null;
};
export type WorkerTracks = { worker: number; node: string; tracks: Track[] };
export type Counter = {
  node: string;
  metric: string;
  device: string;
  unit: string;
  x: Float64Array;
  low: Float64Array;
  mean: Float64Array;
  high: Float64Array;
};
/** A profiled window. */
export type Profiled = { worker: number; kind: string; start: number; end: number; step: number };
export type TraceWindow = {
  window: Range;
  profiled: Profiled[];
  px: number;
  names: string[];
  categories: string[];
  workers: WorkerTracks[];
  counters: Counter[];
  clockError: number | null;
};

type TrackHeader = {
  title: string;
  lanes_count: number;
  count: number;
  narrow: number;
  starts: BufferView;
  seconds: BufferView;
  lanes: BufferView;
  names: BufferView;
  categories: BufferView;
  covered?: BufferView;
  covered_names?: BufferView;
};
type CounterHeader = {
  node: string;
  metric: string;
  device: string;
  unit: string;
  width: number;
  starts: BufferView;
  minimum: BufferView;
  mean: BufferView;
  maximum: BufferView;
};
export type TraceHeader = {
  start: number;
  end: number;
  px: number;
  names: string[];
  categories: string[];
  clock_error_seconds: number | null;
  windows: Profiled[];
  workers: { worker: number; node: string; tracks: TrackHeader[] }[];
  counters: CounterHeader[];
};

export function decodeTrace(frame: Frame<TraceHeader>): TraceWindow {
  const { header } = frame;
  return {
    window: [header.start, header.end],
    profiled: header.windows,
    px: header.px,
    names: header.names,
    categories: header.categories,
    workers: header.workers.map(({ worker, node, tracks }) => ({
      worker,
      node,
      tracks: tracks.map((track) => decodeTrack(frame, track)),
    })),
    counters: header.counters.map((counter) => decodeCounter(frame, counter)),
    clockError: header.clock_error_seconds,
  };
}

function decodeTrack(frame: Frame<unknown>, track: TrackHeader): Track {
  return {
    title: track.title,
    lanes: track.lanes_count,
    count: track.count,
    narrow: track.narrow,
    starts: rawValues(frame, track.starts) as Float64Array,
    seconds: rawValues(frame, track.seconds) as Float32Array,
    lane: rawValues(frame, track.lanes) as Uint16Array,
    name: rawValues(frame, track.names) as Uint32Array,
    category: rawValues(frame, track.categories) as Uint8Array,
    covered: track.covered ? (rawValues(frame, track.covered) as Uint8Array) : null,
    coveredNames: track.covered_names
      ? (rawValues(frame, track.covered_names) as Uint32Array)
      : null,
  };
}

function decodeCounter(frame: Frame<unknown>, counter: CounterHeader): Counter {
  return {
    node: counter.node,
    metric: counter.metric,
    device: counter.device,
    unit: counter.unit,
    x: scaledValues(frame, counter.starts).map((at) => at + counter.width / 2),
    low: scaledValues(frame, counter.minimum),
    mean: scaledValues(frame, counter.mean),
    high: scaledValues(frame, counter.maximum),
  };
}

const path = (...parts: string[]): string => jobPath(job.peek()?.job ?? "", "timeline", ...parts);

export async function loadTrace(
  window: Range,
  workers: string,
  px: number,
  signal: AbortSignal,
): Promise<TraceWindow> {
  return decodeTrace(
    await getFrame<TraceHeader>(path(), { start: window[0], end: window[1], workers, px }, signal),
  );
}

export type TotalRow = {
  worker: number;
  track: string;
  category: string;
  name: string;
  count: number;
  seconds: number;
  self_seconds: number;
  mean_seconds: number;
  longest_seconds: number;
};
export type Totals = { names: number; rows: TotalRow[] };

export function loadTotals(
  window: Range,
  workers: string,
  track: string,
  signal: AbortSignal,
): Promise<Totals> {
  return getJson<Totals>(
    path("totals"),
    { start: window[0], end: window[1], workers, track },
    signal,
  );
}

export type Hit = {
  start: number;
  seconds: number;
  worker: number;
  track: string;
  lane: number;
  name: string;
};
export type Hits = { total: number; hits: Hit[] };

export function loadHits(text: string, workers: string, signal: AbortSignal): Promise<Hits> {
  return getJson<Hits>(path("search"), { text, workers }, signal);
}

/** Identifies a slice by worker, track, lane and a time inside it. */
export type SlicePath = { worker: number; track: string; lane: number; at: number };
export type SliceDetails = {
  name: string;
  category: string;
  track: string;
  worker: number;
  node: string;
  device: string;
  module: string;
  start: number;
  seconds: number;
  step: number | null;
  phase: string | null;
  launched_by: string | null;
  launch_seconds: number | null;
  detail: Record<string, unknown>;
};

export function loadSlice(slice: SlicePath, signal: AbortSignal): Promise<SliceDetails> {
  return getJson<SliceDetails>(path("slice"), { ...slice }, signal);
}

/** A slice as a URL parameter: 0/2/12.5/cuda:0 stream 7; only the track can contain a slash. */
export function formatSlicePath(path: SlicePath): string {
  return `${path.worker}/${path.lane}/${path.at}/${path.track}`;
}

export function parseSlicePath(text: string | undefined): SlicePath | null {
  const match = /^(\d+)\/(\d+)\/(\d+(?:\.\d+)?(?:e-\d+)?)\/(.+)$/.exec(text ?? "");
  return match
    ? { worker: Number(match[1]), lane: Number(match[2]), at: Number(match[3]), track: match[4]! }
    : null;
}
