// Phases of a worker over time: stretches where they are few, shares of time where they are many.

import { getFrame, jobPath } from "../api";
import { type Frame, type Part, partValues } from "../frames";
import type { Range } from "../range";
import { job, jobStart } from "../state";
import { askedWindow } from "./source";

/** One lane; times in seconds since the job's start. `coverage`: the share of each column that shorter stretches take. */
export type Lane = {
  name: string;
  category: string;
  count: number;
  seconds: number;
  starts: Float64Array;
  lengths: Float64Array;
  steps: Float64Array;
  coverage: Float64Array | null;
};
export type Lanes = { window: Range; columns: number; lanes: Lane[] };

type LaneHeader = {
  name: string;
  category: string;
  count: number;
  seconds: number;
  spans: { start: Part; seconds: Part; step: Part };
  coverage: Part | null;
};
type SpansHeader = { t0: number; t1: number; px: number; lanes: LaneHeader[] };

export function decodeLanes(frame: Frame<SpansHeader>, start: number): Lanes {
  const { t0, t1, px, lanes } = frame.header;
  const from = t0 - start;
  return {
    window: [from, t1 - start],
    columns: px,
    lanes: lanes.map(({ spans, coverage, ...rest }) => ({
      ...rest,
      starts: partValues(frame, spans.start).map((at) => at + from),
      lengths: partValues(frame, spans.seconds),
      steps: partValues(frame, spans.step),
      coverage: coverage ? partValues(frame, coverage) : null,
    })),
  };
}

export async function loadLanes(
  worker: number,
  pixels: number,
  signal: AbortSignal,
): Promise<Lanes> {
  const start = jobStart.peek();
  const frame = await getFrame<SpansHeader>(
    jobPath(job.peek()?.job ?? "", "spans"),
    { worker, ...askedWindow(), px: pixels },
    signal,
  );
  return decodeLanes(frame, start);
}

export const isPhase = (lane: Lane): boolean =>
  lane.category === "phase" || lane.category === "user";

/** Adds the share of each of `into.length` equal parts of a window that a stretch takes. */
function addStretch(
  into: Float64Array,
  window: Range,
  from: number,
  to: number,
  weight: number,
): void {
  const width = (window[1] - window[0]) / into.length;
  const a = Math.max(0, (from - window[0]) / width),
    b = Math.min(into.length, (to - window[0]) / width);
  for (let i = Math.floor(a); i < b; i++)
    into[i] = into[i]! + weight * (Math.min(b, i + 1) - Math.max(a, i));
}

/** What a lane takes of each column: stretches of at least `long` seconds, and the rest. */
export function laneShares(
  lane: Lane,
  source: Range,
  columns: number,
  window: Range,
  long: number,
): { long: Float64Array; rest: Float64Array } {
  const shares = { long: new Float64Array(columns), rest: new Float64Array(columns) };
  if (lane.coverage) {
    const step = (source[1] - source[0]) / lane.coverage.length;
    lane.coverage.forEach((share, i) => {
      if (share > 0)
        addStretch(shares.rest, window, source[0] + i * step, source[0] + (i + 1) * step, share);
    });
  }
  lane.starts.forEach((start, i) => {
    const length = lane.lengths[i]!;
    addStretch(length >= long ? shares.long : shares.rest, window, start, start + length, 1);
  });
  return shares;
}

/** Means over `reach` columns to each side of `part` as a share of `whole`. */
export function smoothed(part: Float64Array, whole: Float64Array, reach: number): Float64Array {
  const sums = (values: Float64Array): Float64Array => {
    const total = new Float64Array(values.length + 1);
    values.forEach((value, i) => {
      total[i + 1] = total[i]! + value;
    });
    return total;
  };
  const parts = sums(part),
    wholes = sums(whole);
  return part.map((_, i) => {
    const from = Math.max(0, i - reach),
      to = Math.min(part.length, i + reach + 1);
    const room = wholes[to]! - wholes[from]!;
    return room > 1e-9 ? Math.min(1, (parts[to]! - parts[from]!) / room) : 0;
  });
}

const STEPS_TOGETHER = 4;
const LONG_COLUMNS = 3;

/**
 * The share of time of each phase over `columns` parts of a window. Some steps are taken together, else
 * neighbours would differ by where a column cuts a step; what lasts long, such as a checkpoint, keeps its edges.
 */
export function phaseShares(lanes: Lanes, columns: number, window: Range): Float64Array[] {
  const width = (window[1] - window[0]) / columns;
  const steps =
    Math.max(1, ...lanes.lanes.map((lane) => lane.count)) *
    ((window[1] - window[0]) / (lanes.window[1] - lanes.window[0]));
  const together = STEPS_TOGETHER * ((window[1] - window[0]) / steps);
  const found = lanes.lanes
    .filter(isPhase)
    .map((lane) =>
      laneShares(lane, lanes.window, columns, window, Math.max(LONG_COLUMNS * width, together)),
    );
  const free = new Float64Array(columns)
    .fill(1)
    .map((one, i) => Math.max(0, one - found.reduce((sum, lane) => sum + lane.long[i]!, 0)));
  const reach = Math.min(Math.round(columns / 20), Math.round(together / width / 2));
  return found.map(({ long, rest }) =>
    smoothed(rest, free, reach).map((share, i) => share * free[i]! + long[i]!),
  );
}

/** The stretch of a lane at a time; −1 where there is none. */
export function stretchAt(lane: Lane, time: number): number {
  for (let i = lane.starts.length - 1; i >= 0; i--) {
    if (lane.starts[i]! <= time && time <= lane.starts[i]! + lane.lengths[i]!) return i;
  }
  return -1;
}

/** Lanes while the stretches can be told apart, else shares. */
export function styleFor(lanes: Lanes, wanted: string | undefined): "lanes" | "share" {
  if (wanted === "lanes" || wanted === "share") return wanted;
  const count = lanes.lanes.filter(isPhase).reduce((sum, lane) => sum + lane.count, 0);
  return count <= 400 ? "lanes" : "share";
}

const SHARE_PIXELS = 3;

export const shareColumns = (plot: number): number => Math.max(8, Math.floor(plot / SHARE_PIXELS));
