// Phases of a worker over time: individual spans, or shares of time if there are too many.

import { getFrame, jobPath } from "../api";
import { type BufferView, type Frame, scaledValues } from "../frames";
import type { Range } from "../range";
import { job, jobStart } from "../state";
import { requestedWindow } from "./source";

/** A lane; times in seconds since the start of the job. `coverage` is the share of each column that shorter spans take. */
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
  spans: { start: BufferView; seconds: BufferView; step: BufferView };
  coverage: BufferView | null;
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
      starts: scaledValues(frame, spans.start).map((at) => at + from),
      lengths: scaledValues(frame, spans.seconds),
      steps: scaledValues(frame, spans.step),
      coverage: coverage ? scaledValues(frame, coverage) : null,
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
    { worker, ...requestedWindow(), px: pixels },
    signal,
  );
  return decodeLanes(frame, start);
}

export const isPhase = (lane: Lane): boolean =>
  lane.category === "phase" || lane.category === "user";

/** Adds a span to the shares of the columns that it overlaps. */
function addSpan(
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

/** The share of each column that a lane takes: spans of at least `long` seconds, and the rest. */
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
        addSpan(shares.rest, window, source[0] + i * step, source[0] + (i + 1) * step, share);
    });
  }
  lane.starts.forEach((start, i) => {
    const length = lane.lengths[i]!;
    addSpan(length >= long ? shares.long : shares.rest, window, start, start + length, 1);
  });
  return shares;
}

/** The moving ratio of `values` to `totals` over `reach` columns on each side. */
export function smoothedShares(
  values: Float64Array,
  totals: Float64Array,
  reach: number,
): Float64Array {
  const sums = (values: Float64Array): Float64Array => {
    const total = new Float64Array(values.length + 1);
    values.forEach((value, i) => {
      total[i + 1] = total[i]! + value;
    });
    return total;
  };
  const valueSums = sums(values),
    totalSums = sums(totals);
  return values.map((_, i) => {
    const from = Math.max(0, i - reach),
      to = Math.min(values.length, i + reach + 1);
    const room = totalSums[to]! - totalSums[from]!;
    return room > 1e-9 ? Math.min(1, (valueSums[to]! - valueSums[from]!) / room) : 0;
  });
}

const SMOOTHED_STEPS = 4;
const LONG_COLUMNS = 3;

/**
 * The share of time of each phase in `columns` columns of a window. Shares are smoothed over several
 * steps, because columns cut steps at different points; long spans such as checkpoints keep their edges.
 */
export function phaseShares(lanes: Lanes, columns: number, window: Range): Float64Array[] {
  const width = (window[1] - window[0]) / columns;
  const steps =
    Math.max(1, ...lanes.lanes.map((lane) => lane.count)) *
    ((window[1] - window[0]) / (lanes.window[1] - lanes.window[0]));
  const smoothingSeconds = SMOOTHED_STEPS * ((window[1] - window[0]) / steps);
  const shares = lanes.lanes
    .filter(isPhase)
    .map((lane) =>
      laneShares(
        lane,
        lanes.window,
        columns,
        window,
        Math.max(LONG_COLUMNS * width, smoothingSeconds),
      ),
    );
  const free = new Float64Array(columns)
    .fill(1)
    .map((total, i) => Math.max(0, total - shares.reduce((sum, lane) => sum + lane.long[i]!, 0)));
  const reach = Math.min(Math.round(columns / 20), Math.round(smoothingSeconds / width / 2));
  return shares.map(({ long, rest }) =>
    smoothedShares(rest, free, reach).map((share, i) => share * free[i]! + long[i]!),
  );
}

/** The index of the span of a lane at a time; −1 if there is none. */
export function spanAt(lane: Lane, time: number): number {
  for (let i = lane.starts.length - 1; i >= 0; i--) {
    if (lane.starts[i]! <= time && time <= lane.starts[i]! + lane.lengths[i]!) return i;
  }
  return -1;
}

/** Lanes if the spans are few enough to be distinguished, else shares. */
export function styleFor(lanes: Lanes, requested: string | undefined): "lanes" | "share" {
  if (requested === "lanes" || requested === "share") return requested;
  const count = lanes.lanes.filter(isPhase).reduce((sum, lane) => sum + lane.count, 0);
  return count <= 400 ? "lanes" : "share";
}

const SHARE_PIXELS = 3;

export const shareColumns = (plot: number): number => Math.max(8, Math.floor(plot / SHARE_PIXELS));
