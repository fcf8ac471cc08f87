// News of a running job: server-sent events, with a pause, and nothing while nobody looks.

import { signal } from "@preact/signals";
import { getJson, type JobDocument, jobPath } from "./api";
import { extendTo, isLive, job, jobStart, showJob } from "./state";

export { isRunning } from "./state";

export type Connection = "none" | "connecting" | "live" | "lost" | "paused" | "ended";

export const connection = signal<Connection>("none");
export const isPaused = signal(false);
/** Unix seconds of the last news, by this machine's clock. */
export const lastUpdate = signal<number | null>(null);
/** Counts up when the server is there again: what failed is asked anew. */
export const returns = signal(0);
/** Each counts up when there is news of its kind; views that show the end depend on it. */
export const news = {
  samples: signal(0),
  steps: signal(0),
  findings: signal(0),
  status: signal(0),
};

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15000;

/** How long to wait before the next try. */
export function retryWait(failures: number): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.max(0, failures - 1));
}

let source: EventSource | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
let failures = 0;
let followed = "";
let cursor = "";

function close(): void {
  source?.close();
  source = null;
  clearTimeout(timer);
  timer = undefined;
}

function heard(event: MessageEvent): Record<string, unknown> {
  if (event.lastEventId) cursor = event.lastEventId;
  lastUpdate.value = Date.now() / 1000;
  failures = 0;
  connection.value = "live";
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
    if (name !== followed) return;
    showJob(document);
    if (!isLive.peek()) {
      close();
      connection.value = "ended";
    }
  } catch {
    // The connection says that it is lost; the next event asks again.
  }
}

function failed(): void {
  close();
  failures += 1;
  connection.value = "lost";
  timer = setTimeout(open, retryWait(failures));
}

function open(): void {
  close();
  if (!followed || isPaused.peek() || document.hidden) return;
  if (connection.peek() !== "lost") connection.value = "connecting";
  const name = followed;
  const query = cursor ? `?cursor=${encodeURIComponent(cursor)}` : "";
  const opened = new EventSource(jobPath(name, "events") + query);
  source = opened;
  opened.onopen = () => {
    const wasLost = connection.peek() === "lost";
    connection.value = "live";
    if (!wasLost) return;
    returns.value += 1;
    void refresh(name);
  };
  opened.onerror = failed;
  opened.addEventListener("samples", (event) => {
    const { to } = heard(event);
    if (typeof to === "number") extendTo(to - jobStart.peek());
    news.samples.value += 1;
    if (job.peek()?.nodes.length === 0) void refresh(name);
  });
  opened.addEventListener("steps", (event) => {
    heard(event);
    news.steps.value += 1;
  });
  for (const kind of ["status", "findings"] as const) {
    opened.addEventListener(kind, (event) => {
      heard(event);
      news[kind].value += 1;
      void refresh(name);
    });
  }
}

/** Begins to follow the job that is shown; a finished one has no news. */
export function follow(name: string): void {
  if (name === followed && source) return;
  unfollow();
  if (!isLive.peek()) {
    connection.value = "ended";
    return;
  }
  followed = name;
  lastUpdate.value = Date.now() / 1000;
  open();
}

export function unfollow(): void {
  close();
  followed = "";
  cursor = "";
  failures = 0;
  connection.value = "none";
}

export function setPaused(value: boolean): void {
  isPaused.value = value;
  if (!followed) return;
  if (value) {
    close();
    connection.value = "paused";
  } else {
    open();
    void refresh(followed);
  }
}

export function startLive(): void {
  document.addEventListener("visibilitychange", () => {
    if (!followed || isPaused.peek()) return;
    if (document.hidden) close();
    else {
      open();
      void refresh(followed);
    }
  });
}
