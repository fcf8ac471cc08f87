// The Python profile as a tree, and its filters.

import { getFrame, jobPath } from "../api";
import { type BufferView, type Frame, rawValues } from "../frames";
import { job } from "../state";
import type { FlameTree } from "./flame_layout";

export type FunctionRow = {
  name: string;
  where: string;
  self_seconds: number;
  total_seconds: number;
  self_percent: number;
  total_percent: number;
  count: number;
};
export type FlameChoices = {
  profilers: string[];
  modes: string[];
  phases: string[];
  threads: string[];
  workers: number[];
  steps: number[];
};
export type FlameWindow = {
  worker: number;
  profiler: string;
  timer: string;
  start: number;
  end: number;
  steps: [string, number][];
  is_cut: boolean;
};
type FlameHeader = {
  profiler: string;
  counted: string;
  choices: FlameChoices;
  windows: FlameWindow[];
  left_out: number;
  functions: [string, string, number][];
  table: FunctionRow[];
  frames: BufferView;
  parents: BufferView;
  self: BufferView;
  total: BufferView;
  counts: BufferView;
};
export type FlameData = {
  profiler: string;
  counted: string;
  choices: FlameChoices;
  windows: FlameWindow[];
  omitted: number;
  tree: FlameTree;
  lines: readonly number[];
  table: FunctionRow[];
};

/** Filters of the profile; "" matches all. Steps are a range such as 10-20. */
export type FlameQuery = {
  steps: string;
  mode: string;
  phase: string;
  thread: string;
  profiler: string;
  worker: string;
};

export function parseSteps(text: string): { first: number | null; last: number | null } {
  const match = /^\s*(\d+)?\s*(?:[-–]\s*(\d+)?)?\s*$/.exec(text);
  if (!match) return { first: null, last: null };
  const first = match[1] === undefined ? null : Number(match[1]);
  const isOpen = /[-–]/.test(text);
  const last = match[2] === undefined ? (isOpen ? null : first) : Number(match[2]);
  return { first, last };
}

export async function loadFlame(choice: FlameQuery, signal: AbortSignal): Promise<FlameData> {
  const { first, last } = parseSteps(choice.steps);
  const { mode, phase, thread, profiler, worker } = choice;
  const query = { first_step: first, last_step: last, mode, phase, thread, profiler, worker };
  return decodeFlame(
    await getFrame<FlameHeader>(jobPath(job.peek()?.job ?? "", "flame"), query, signal),
  );
}

export function decodeFlame(frame: Frame<FlameHeader>): FlameData {
  const { header } = frame;
  const functions = rawValues(frame, header.frames);
  const names: string[] = [],
    files: string[] = [],
    lines: number[] = [];
  for (const number of functions) {
    const [name, file, line] = header.functions[number]!;
    names.push(name);
    files.push(file);
    lines.push(line);
  }
  const tree: FlameTree = {
    names,
    files,
    parents: Int32Array.from(rawValues(frame, header.parents), (parent) =>
      parent === 0xffffffff ? -1 : parent,
    ),
    totals: rawValues(frame, header.total) as Float64Array,
    selves: rawValues(frame, header.self) as Float64Array,
    counts: rawValues(frame, header.counts),
  };
  return {
    profiler: header.profiler,
    counted: header.counted,
    choices: header.choices,
    windows: header.windows,
    omitted: header.left_out,
    tree,
    lines,
    table: header.table,
  };
}
