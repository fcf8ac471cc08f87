// Phases of a worker over time: stretches where they are few, shares of time where they are many.

import { getFrame, jobPath } from "../api";
import { partValues, type Frame, type Part } from "../frames";
import type { Range } from "../range";
import { job, jobStart } from "../state";
import { askedWindow } from "./source";

/** One lane; times in seconds since the job's start. `coverage`: the share of each column that shorter stretches take. */
export type Lane = {
  name: string; category: string; count: number; seconds: number;
  starts: Float64Array; lengths: Float64Array; steps: Float64Array; coverage: Float64Array | null;
};
export type Lanes = { window: Range; columns: number; lanes: Lane[] };

type LaneHeader = {
  name: string; category: string; count: number; seconds: number;
  spans: { start: Part; seconds: Part; step: Part }; coverage: Part | null;
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

export async function loadLanes(worker: number, pixels: number, signal: AbortSignal): Promise<Lanes> {
  const start = jobStart.peek();
  const frame = await getFrame<SpansHeader>(jobPath(job.peek()?.job ?? "", "spans"), { worker, ...askedWindow(), px: pixels }, signal);
  return decodeLanes(frame, start);
}

export const isPhase = (lane: Lane): boolean => lane.category === "phase" || lane.category === "user";

/** The share of each of `columns` equal parts of a window that a lane takes. */
export function laneShares(lane: Lane, source: Range, columns: number, window: Range): Float64Array {
  const shares = new Float64Array(columns);
  const width = (window[1] - window[0]) / columns;
  const add = (from: number, to: number, weight: number): void => {
    const a = Math.max(0, (from - window[0]) / width), b = Math.min(columns, (to - window[0]) / width);
    for (let i = Math.floor(a); i < b; i++) shares[i] = shares[i]! + weight * (Math.min(b, i + 1) - Math.max(a, i));
  };
  if (lane.coverage) {
    const step = (source[1] - source[0]) / lane.coverage.length;
    lane.coverage.forEach((share, i) => {
      if (share > 0) add(source[0] + i * step, source[0] + (i + 1) * step, share);
    });
  }
  lane.starts.forEach((at, i) => add(at, at + lane.lengths[i]!, 1));
  for (let i = 0; i < columns; i++) if (shares[i]! > 1) shares[i] = 1;
  return shares;
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
const STEPS_PER_COLUMN = 4;

/** How many columns shares are taken over: each holds some steps, else neighbours differ by chance. */
export function shareColumns(lanes: Lanes, plot: number, window: Range): number {
  const inView = (window[1] - window[0]) / (lanes.window[1] - lanes.window[0]);
  const steps = Math.max(0, ...lanes.lanes.map((lane) => lane.count)) * inView;
  return Math.max(8, Math.min(Math.floor(plot / SHARE_PIXELS), Math.round(steps / STEPS_PER_COLUMN)));
}
