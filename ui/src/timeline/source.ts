// What a window of the timeline shows: slices of workers, the share that narrow ones cover, metrics of machines.

import { getFrame, getJson, jobPath } from "../api";
import { type Frame, type Part, partValues, rawPart } from "../frames";
import type { Range } from "../range";
import { job } from "../state";

/** Slices of one track in order of time; `covered` has `px` codes of 0..250 per lane, for those too narrow to be drawn. */
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
/** Where a profiler looked deeper. */
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
  starts: Part;
  seconds: Part;
  lanes: Part;
  names: Part;
  categories: Part;
  covered?: Part;
};
type CounterHeader = {
  node: string;
  metric: string;
  device: string;
  unit: string;
  width: number;
  starts: Part;
  minimum: Part;
  mean: Part;
  maximum: Part;
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
      tracks: tracks.map((one) => decodeTrack(frame, one)),
    })),
    counters: header.counters.map((one) => decodeCounter(frame, one)),
    clockError: header.clock_error_seconds,
  };
}

function decodeTrack(frame: Frame<unknown>, track: TrackHeader): Track {
  return {
    title: track.title,
    lanes: track.lanes_count,
    count: track.count,
    narrow: track.narrow,
    starts: rawPart(frame, track.starts) as Float64Array,
    seconds: rawPart(frame, track.seconds) as Float32Array,
    lane: rawPart(frame, track.lanes) as Uint16Array,
    name: rawPart(frame, track.names) as Uint32Array,
    category: rawPart(frame, track.categories) as Uint8Array,
    covered: track.covered ? (rawPart(frame, track.covered) as Uint8Array) : null,
  };
}

function decodeCounter(frame: Frame<unknown>, one: CounterHeader): Counter {
  return {
    node: one.node,
    metric: one.metric,
    device: one.device,
    unit: one.unit,
    x: partValues(frame, one.starts).map((at) => at + one.width / 2),
    low: partValues(frame, one.minimum),
    mean: partValues(frame, one.mean),
    high: partValues(frame, one.maximum),
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

/** Which slice: its worker, track and lane, and a moment in it. */
export type SlicePlace = { worker: number; track: string; lane: number; at: number };
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

export function loadSlice(place: SlicePlace, signal: AbortSignal): Promise<SliceDetails> {
  return getJson<SliceDetails>(path("slice"), { ...place }, signal);
}

/** As it stands in the address: 0/cuda:0 stream 7/2/12.5; only the track may have a slash in it. */
export function placeText(place: SlicePlace): string {
  return `${place.worker}/${place.lane}/${place.at}/${place.track}`;
}

export function parsePlace(text: string | undefined): SlicePlace | null {
  const match = /^(\d+)\/(\d+)\/(\d+(?:\.\d+)?(?:e-\d+)?)\/(.+)$/.exec(text ?? "");
  return match
    ? { worker: Number(match[1]), lane: Number(match[2]), at: Number(match[3]), track: match[4]! }
    : null;
}
