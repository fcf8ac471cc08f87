// Typed requests to the server; errors carry a message for the user.

import { bundle } from "./bundle";
import { bundledFrame, bundledJson } from "./bundled_replies";
import { type BufferView, decodeFrame, type Frame } from "./frames";
import type { FindingDocument, JobDocument, Severity } from "./generated/api_types";

export type {
  ExitDocument,
  FindingsDocument,
  JobDocument,
  JobState,
  LifeDocument,
  MetricDocument,
  NodeDocument,
  OverheadDocument as Overhead,
  RuleDocument,
  RuleStatus,
  RunDocument,
  Severity,
  StageDocument as Stage,
  WorkerDocument,
} from "./generated/api_types";
export type Finding = FindingDocument;

export type JobRow = {
  name: string;
  state: string;
  start_time: string;
  end_time: string | null;
  finding: string | null;
  duration_seconds: number;
  verdict: string;
  worst: Severity | null;
  findings: Partial<Record<Severity, number>>;
  steps: Record<string, number>;
  nodes: number;
  workers: number;
  spark: { label: string; values: (number | null)[] } | null;
  tags: string[];
  group: string;
  note: string;
  /** How its speed compares with the previous run of its script: "18% slower than run-7". */
  change: string | null;
};
export type JobList = {
  jobs: JobRow[];
  total: number;
  unread?: number;
  version: string;
  store: string;
  now: number;
};

export type SeriesEntry = {
  key: string;
  unit: string;
  parts: Record<"min" | "mean" | "max", BufferView>;
};
export type SeriesHeader = {
  t0: number;
  t1: number;
  width: number;
  x: BufferView;
  series: SeriesEntry[];
};

/** A failed request; the message says what to do about it. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

export type Query = Record<string, string | number | boolean | null | undefined>;

export function address(path: string, query: Query = {}): string {
  const pairs = Object.entries(query)
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`);
  return pairs.length ? `${path}?${pairs.join("&")}` : path;
}

/** A path below a job: jobPath("a", "charts", "losses"). */
export function jobPath(job: string, ...parts: string[]): string {
  return ["/api/jobs", job, ...parts]
    .map((segment, i) => (i ? encodeURIComponent(segment) : segment))
    .join("/");
}

async function request(url: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { credentials: "same-origin", ...init });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError("Cannot reach the server. Check that `sonde ui` is still running.", 0);
  }
  if (!response.ok) throw new ApiError(await errorText(response), response.status);
  return response;
}

async function errorText(response: Response): Promise<string> {
  const text = await response.text();
  try {
    const message = (JSON.parse(text) as { error?: unknown }).error;
    if (typeof message === "string") return message;
  } catch {
    // Not an error of this server; report the HTTP status.
  }
  return `The server responded with ${response.status} ${response.statusText}.`;
}

export async function getJson<T>(
  path: string,
  query: Query = {},
  signal?: AbortSignal,
): Promise<T> {
  if (bundle) return (await bundledJson(bundle, path, query)) as T;
  const response = await request(address(path, query), signal ? { signal } : {});
  return (await response.json()) as T;
}

export async function getFrame<Header>(
  path: string,
  query: Query = {},
  signal?: AbortSignal,
): Promise<Frame<Header>> {
  if (bundle) return (await bundledFrame(bundle, path, query)) as Frame<Header>;
  const response = await request(address(path, query), signal ? { signal } : {});
  return decodeFrame<Header>(await response.arrayBuffer());
}

/** Sends a change; the header proves that no form of another site sent it. */
export async function send<T>(
  method: "POST" | "DELETE",
  path: string,
  body: unknown = {},
): Promise<T> {
  const response = await request(path, {
    method,
    headers: { "Content-Type": "application/json", "X-Sonde": "1" },
    ...(method === "POST" ? { body: JSON.stringify(body) } : {}),
  });
  return (await response.json().catch(() => ({}))) as T;
}

export const unixOf = (stamp: string | null | undefined): number | null =>
  stamp ? Date.parse(stamp) / 1000 : null;

/** Findings in the server's order: causes before consequences, the most severe first. */
export const allFindings = (document: JobDocument): Finding[] => document.findings?.findings ?? [];
