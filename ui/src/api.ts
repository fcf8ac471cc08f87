// Typed requests to the server; errors carry a message for the user.

import { type BufferView, decodeFrame, type Frame } from "./frames";
import type {
  ExitReason,
  JobState,
  NoticeKind,
  RuleStatus,
  Sampling,
  Seen,
  Setting,
  Severity,
} from "./generated/api_types";

export type { JobState, RuleStatus, Severity } from "./generated/api_types";

export type Finding = {
  id: string;
  rule: string;
  message: string;
  severity: Severity;
  advice: string | null;
  step: [number, number] | null;
  time: [string, string] | null;
  node: string | null;
  worker: number | null;
  device: string | null;
  tensor: string | null;
  cause: string | null;
  triggered: number;
  is_open: boolean;
  outcome: string;
  evidence: Record<string, unknown>;
  actions: unknown[];
};

export type RuleDocument = {
  rule: string;
  status: RuleStatus;
  setting: Setting;
  triggered: number;
  datapoints: number;
  parameters: Record<string, unknown>;
  description: string;
  recommendation: string;
  reason: string | null;
  traceback: string | null;
  seconds: number;
  summary: Record<string, unknown>;
  findings: Finding[];
};

export type NodeDocument = { name: string; cores: number; gpus: string[]; has_gpu: boolean };
export type Stage = { seconds: number; percent: number; start_time?: string; end_time?: string };
export type WorkerDocument = { rank: number; node: string | null; device: string | null };
export type FindingsDocument = {
  findings: Finding[];
  counts: Partial<Record<Severity, number>>;
  worst: Severity | null;
  sentence: string | null;
};

export type ExitDocument = {
  code: number | null;
  signal: string | null;
  reason: ExitReason | null;
  message: string | null;
  traceback: string | null;
  worker: number | null;
  left_running: number[];
};
export type RunDocument = {
  node: string;
  attempt: number;
  state: JobState;
  exit: ExitDocument | null;
  start_time: string;
  command: string[];
  folder: string;
  pid: number | null;
  interval_seconds: number;
  git: Record<string, unknown>;
  versions: Record<string, string>;
  machine: Record<string, string>;
  packages: Record<string, string>;
  environment: Record<string, string>;
};
export type LifeDocument = {
  worker: number;
  node: string;
  attempt: number;
  restart: number;
  pid: number;
  framework: string | null;
  device: string | null;
  versions: Record<string, string>;
  failure: string | null;
};
export type Overhead = {
  percent: number | null;
  hook_percent: number | null;
  launcher_percent: number | null;
  cpu_seconds: number;
  bytes_written: number;
};

/** The document of `sonde status --json`, with additions for the dashboard. */
export type JobDocument = Sampling & {
  job: string;
  state: JobState;
  seen: Seen;
  attempts: number;
  verdict: string;
  not_seen: string;
  now: number;
  t0: number;
  t1: number;
  start_time: string;
  end_time: string | null;
  duration_seconds: number;
  exit: ExitDocument | null;
  stages: Record<string, Stage>;
  steps: Record<string, number>;
  phases: Record<
    string,
    {
      steps: number;
      seconds: { mean: number; p50: number; p95: number; maximum: number };
      percent: Record<string, number>;
    }
  >;
  losses: Record<string, { step: number; value: number }>;
  nodes: NodeDocument[];
  workers: WorkerDocument[];
  rules: RuleDocument[];
  findings: FindingsDocument;
  notices: { time: string; kind: NoticeKind; what: string; text: string }[];
  lost: { what: string; from: string | null; to: string | null; reason: string }[];
  not_collected: { what: string; reason: string }[];
  profiles: {
    kind: string;
    first_step: number;
    last_step: number;
    by: string;
    workers: number;
    cost_seconds: number;
  }[];
  runs: RunDocument[];
  lives: LifeDocument[];
  overhead: Overhead | null;
  has: Record<string, boolean>;
  controls: { stop: boolean; set: boolean; profile: boolean; delete: boolean };
};

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
};
export type JobList = {
  jobs: JobRow[];
  total: number;
  unread?: number;
  version: string;
  store: string;
  now: number;
};

export type MetricDocument = {
  metric: string;
  unit: string;
  help: string;
  devices: string[];
  has_whole: boolean;
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
  const response = await request(address(path, query), signal ? { signal } : {});
  return (await response.json()) as T;
}

export async function getFrame<Header>(
  path: string,
  query: Query = {},
  signal?: AbortSignal,
): Promise<Frame<Header>> {
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
