// Replies to requests of the API from the data of a bundle.

import type { Bundle, Entry } from "./bundle";
import { decodeFrame, type Frame } from "./frames";
import type { Range } from "./range";

type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

const NOT_INCLUDED = "This file does not contain this view. To see it, use sonde ui.";
const ENTIRE_JOB_ONLY =
  "This file contains these numbers for the entire job only. For other ranges, use sonde ui.";
const TOLERANCE = 1e-3; // of the length of a window

const text = (value: Query[string]): string =>
  value === null || value === undefined ? "" : String(value);

/** The window of a request in seconds since the start of the job, clipped to the job. */
function windowOf(bundle: Bundle, query: Query): Range {
  const time = (sinceStart: string, unix: string, otherwise: number): number => {
    if (query[sinceStart] !== undefined) return Number(query[sinceStart]);
    return query[unix] === undefined ? otherwise : Number(query[unix]) - bundle.start;
  };
  return [
    Math.max(0, time("start", "t0", 0)),
    Math.min(bundle.seconds, time("end", "t1", bundle.seconds)),
  ];
}

const lengthOf = ([from, to]: Range): number => to - from;

/** The entries that contain a window, those with the most detail first. */
function inWindow(entries: readonly Entry[], requested: Range): Entry[] {
  const slack = TOLERANCE * lengthOf(requested) + 1e-6;
  const contains = ({ window, is_exact }: Entry): boolean =>
    window === null ||
    (window[0] <= requested[0] + slack &&
      window[1] >= requested[1] - slack &&
      (!is_exact || lengthOf(window) <= lengthOf(requested) + 2 * slack));
  return entries
    .filter(contains)
    .sort((a, b) => (a.window && b.window ? lengthOf(a.window) - lengthOf(b.window) : 0));
}

/** The entries that reply to a request, the best first. */
export function entriesFor(bundle: Bundle, path: string, query: Query): Entry[] {
  const matching = bundle.replies.filter(
    (entry) =>
      entry.path === path &&
      Object.entries(entry.query).every(([name, value]) => text(query[name]) === value),
  );
  return inWindow(matching, windowOf(bundle, query));
}

async function decompress(data: string): Promise<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

const MAX_CACHED = 32;
const cached = new Map<Entry, Promise<ArrayBuffer>>();

function bytesOf(entry: Entry): Promise<ArrayBuffer> {
  const bytes = cached.get(entry) ?? decompress(entry.data);
  cached.delete(entry);
  cached.set(entry, bytes);
  const [oldest] = cached.keys();
  if (cached.size > MAX_CACHED && oldest) cached.delete(oldest);
  return bytes;
}

/** The path below the job: `/api/jobs/NAME/series` is `series`. */
function pathBelow(bundle: Bundle, path: string): string | null {
  const [, , , job, ...rest] = path.split("/").map(decodeURIComponent);
  return job === bundle.job ? rest.join("/") : null;
}

function entriesOrError(bundle: Bundle, path: string, query: Query): Entry[] {
  const below = pathBelow(bundle, path);
  const entries = below === null ? [] : entriesFor(bundle, below, query);
  const isExact = bundle.replies.some((entry) => entry.path === below && entry.is_exact);
  if (!entries.length) throw new Error(isExact ? ENTIRE_JOB_ONLY : NOT_INCLUDED);
  return entries;
}

async function jsonOf(entry: Entry): Promise<unknown> {
  return JSON.parse(new TextDecoder().decode(await bytesOf(entry)));
}

type StepsReply = { steps: { step: number }[] };
type StatisticsReply = { series: { name: string }[] };
type TimelineHeader = {
  workers: { worker: number; node: string }[];
  counters: { node: string }[];
};

/** The last steps before a step. */
function lastSteps(reply: StepsReply, query: Query): StepsReply {
  const before = query.before === null || query.before === undefined ? Infinity : query.before;
  const steps = reply.steps.filter(({ step }) => step < Number(before));
  return { ...reply, steps: steps.slice(-Number(query.last ?? steps.length)) };
}

/** The series of the requested tensors, which several replies contain. */
async function statistics(entries: readonly Entry[], query: Query): Promise<StatisticsReply> {
  const names = new Set(text(query.names).split("\n"));
  const needed = entries.filter(({ bounds }) =>
    (bounds.names ?? "").split("\n").some((name) => names.has(name)),
  );
  if (!needed.length) throw new Error(NOT_INCLUDED);
  const replies = (await Promise.all(needed.map(jsonOf))) as StatisticsReply[];
  const series = replies.flatMap((reply) => reply.series).filter(({ name }) => names.has(name));
  return { ...replies[0]!, series };
}

export async function bundledJson(bundle: Bundle, path: string, query: Query): Promise<unknown> {
  const entries = entriesOrError(bundle, path, query);
  const [entry] = entries as [Entry];
  if (entry.path === "tensors/statistics") return statistics(entries, query);
  const reply = await jsonOf(entry);
  return entry.path === "steps" ? lastSteps(reply as StepsReply, query) : reply;
}

export async function bundledFrame(
  bundle: Bundle,
  path: string,
  query: Query,
): Promise<Frame<unknown>> {
  const [entry] = entriesOrError(bundle, path, query) as [Entry];
  const frame = decodeFrame<unknown>(await bytesOf(entry));
  if (entry.path !== "timeline" || !query.workers) return frame;
  return { ...frame, header: ofWorkers(frame.header as TimelineHeader, text(query.workers)) };
}

/** The timeline of some of its workers, and of their nodes. */
function ofWorkers(header: TimelineHeader, ranks: string): TimelineHeader {
  const requested = new Set(ranks.split(",").map(Number));
  const workers = header.workers.filter(({ worker }) => requested.has(worker));
  if (!workers.length) throw new Error(NOT_INCLUDED);
  const nodes = new Set(workers.map(({ node }) => node));
  return { ...header, workers, counters: header.counters.filter(({ node }) => nodes.has(node)) };
}
