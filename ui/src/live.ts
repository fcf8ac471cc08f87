// Live updates of a running job through server-sent events. While paused, only its end is shown.

import { signal } from "@preact/signals";
import { getJson, type JobDocument, jobPath } from "./api";
import { extendTo, isLive, isRunning, job, jobStart, showJob } from "./state";

export { isRunning } from "./state";

export type Connection = "none" | "connecting" | "live" | "lost" | "paused" | "ended";

export const connection = signal<Connection>("none");
export const isPaused = signal(false);
/** Local Unix time of the last update, in seconds. */
export const lastUpdate = signal<number | null>(null);
/** Incremented when the connection is restored, so that failed requests are repeated. */
export const reconnects = signal(0);
/** Counters of updates by kind; views that show the end of a job depend on them. */
export const updates = {
  samples: signal(0),
  steps: signal(0),
  findings: signal(0),
  status: signal(0),
};

const FIRST_WAIT_MS = 1000;
const MAX_WAIT_MS = 15000;

/** The delay before the next attempt, in milliseconds. */
export function retryWait(failures: number): number {
  return Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.max(0, failures - 1));
}

let source: EventSource | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
let failures = 0;
let currentJob = "";
let cursor = "";

function close(): void {
  source?.close();
  source = null;
  clearTimeout(timer);
  timer = undefined;
}

function receive(event: MessageEvent): Record<string, unknown> {
  if (event.lastEventId) cursor = event.lastEventId;
  failures = 0;
  if (!isPaused.peek()) {
    lastUpdate.value = Date.now() / 1000;
    connection.value = "live";
  }
  try {
    const data: unknown = JSON.parse(String(event.data));
    return typeof data === "object" && data !== null ? (data as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

async function refresh(name: string): Promise<void> {
  try {
    const document = await getJson<JobDocument>(jobPath(name));
    if (name !== currentJob) return;
    if (isPaused.peek() && isRunning(document.state)) return;
    showJob(document);
    if (!isLive.peek()) {
      close();
      isPaused.value = false;
      connection.value = "ended";
    }
  } catch {
    // The connection state shows the failure; the next event retries.
  }
}

function onFailure(): void {
  close();
  failures += 1;
  connection.value = "lost";
  timer = setTimeout(open, retryWait(failures));
}

function open(): void {
  close();
  if (!currentJob || document.hidden) return;
  if (connection.peek() !== "lost" && !isPaused.peek()) connection.value = "connecting";
  const name = currentJob;
  const query = cursor ? `?cursor=${encodeURIComponent(cursor)}` : "";
  const opened = new EventSource(jobPath(name, "events") + query);
  source = opened;
  opened.onopen = () => {
    const wasLost = connection.peek() === "lost";
    connection.value = isPaused.peek() ? "paused" : "live";
    if (!wasLost) return;
    reconnects.value += 1;
    void refresh(name);
  };
  opened.onerror = onFailure;
  opened.addEventListener("samples", (event) => {
    const { to } = receive(event);
    if (isPaused.peek()) return;
    if (typeof to === "number") extendTo(to - jobStart.peek());
    updates.samples.value += 1;
    if (job.peek()?.nodes.length === 0) void refresh(name);
  });
  opened.addEventListener("steps", (event) => {
    receive(event);
    if (!isPaused.peek()) updates.steps.value += 1;
  });
  for (const kind of ["status", "findings"] as const) {
    opened.addEventListener(kind, (event) => {
      receive(event);
      if (!isPaused.peek()) updates[kind].value += 1;
      void refresh(name);
    });
  }
}

/** Subscribes to updates of the current job; finished jobs have none. */
export function follow(name: string): void {
  if (name === currentJob && source) return;
  unfollow();
  if (!isLive.peek()) {
    connection.value = "ended";
    return;
  }
  currentJob = name;
  lastUpdate.value = Date.now() / 1000;
  open();
}

export function unfollow(): void {
  close();
  currentJob = "";
  cursor = "";
  failures = 0;
  connection.value = "none";
}

export function setPaused(value: boolean): void {
  isPaused.value = value;
  if (!currentJob) return;
  if (value) {
    connection.value = "paused";
    return;
  }
  open();
  for (const counter of Object.values(updates)) counter.value += 1;
  void refresh(currentJob);
}

export function startLive(): void {
  document.addEventListener("visibilitychange", () => {
    if (!currentJob) return;
    if (document.hidden) close();
    else {
      open();
      void refresh(currentJob);
    }
  });
}
