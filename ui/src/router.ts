// Routing by URL hash: #/jobs/NAME/nodes?t=420-700&sel=480-630&node=a

import { signal } from "@preact/signals";
import { bundle } from "./bundle";

export type Parameters = Readonly<Record<string, string>>;
/** `page` is jobs, compare or a page of a job; `job` is empty for the first two. */
export type Route = { page: string; job: string; parameters: Parameters };

const HOME: Route = { page: "jobs", job: "", parameters: {} };

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replace(/\+/g, " "));
  } catch {
    return text;
  }
}

export function parseHash(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?", 2);
  const parameters: Record<string, string> = {};
  for (const pair of query.split("&").filter(Boolean)) {
    const [name = "", ...rest] = pair.split("=");
    parameters[decode(name)] = decode(rest.join("="));
  }
  const segments = path.split("/").filter(Boolean).map(decode);
  if (segments[0] === "jobs" && segments[1])
    return { page: segments[2] ?? "overview", job: segments[1], parameters };
  if (segments[0] && segments[0] !== "jobs") return { page: segments[0], job: "", parameters };
  return { ...HOME, parameters };
}

export function formatHash(route: Route): string {
  const path = route.job
    ? `#/jobs/${encodeURIComponent(route.job)}/${encodeURIComponent(route.page)}`
    : route.page === "jobs"
      ? "#/"
      : `#/${encodeURIComponent(route.page)}`;
  const query = Object.entries(route.parameters)
    .filter(([, value]) => value !== "")
    .map(
      ([name, value]) =>
        `${encodeURIComponent(name)}=${encodeURIComponent(value).replace(/%2C/g, ",").replace(/%3A/g, ":")}`,
    )
    .join("&");
  return query ? `${path}?${query}` : path;
}

export const route = signal<Route>(HOME);

const WRITE_MS = 250;
let pending: ReturnType<typeof setTimeout> | undefined;
let written = -Infinity;

function write(): void {
  pending = undefined;
  written = performance.now();
  const hash = formatHash(route.peek());
  if (hash !== location.hash) history.replaceState(null, "", hash);
}

/** Changes parameters of the route; whether any has changed. */
function change(changes: Record<string, string | null>): boolean {
  const parameters: Record<string, string> = { ...route.peek().parameters };
  let isChanged = false;
  for (const [name, value] of Object.entries(changes)) {
    if ((parameters[name] ?? "") === (value ?? "")) continue;
    isChanged = true;
    if (value) parameters[name] = value;
    else delete parameters[name];
  }
  if (isChanged) route.value = { ...route.peek(), parameters };
  return isChanged;
}

/** Changes URL parameters in place. Writes are throttled, because browsers limit history updates. */
export function setParameters(changes: Record<string, string | null>): void {
  if (!change(changes)) return;
  if (pending !== undefined) return;
  const wait = written + WRITE_MS - performance.now();
  if (wait <= 0) write();
  else pending = setTimeout(write, wait);
}

/** Changes URL parameters so that the browser's Back button undoes it. */
export function pushParameters(changes: Record<string, string | null>): void {
  if (pending !== undefined) {
    clearTimeout(pending);
    write();
  }
  if (!change(changes)) return;
  const hash = formatHash(route.peek());
  if (hash !== location.hash) history.pushState(null, "", hash);
}

/** A link to a page; time window, selection, node and worker are preserved within a job. */
export function linkTo(
  page: string,
  job: string = route.value.job,
  parameters: Parameters = {},
): string {
  const here = route.value;
  const shared: Record<string, string> = {};
  if (job && job === here.job) {
    for (const name of ["t", "sel", "node", "worker"]) {
      const value = here.parameters[name];
      if (value) shared[name] = value;
    }
  }
  return formatHash({ page, job, parameters: { ...shared, ...parameters } });
}

export function goTo(hash: string): void {
  if (pending) clearTimeout(pending);
  pending = undefined;
  location.hash = hash;
}

export function startRouter(): void {
  const read = (): void => {
    if (pending) clearTimeout(pending);
    pending = undefined;
    const requested = parseHash(location.hash);
    route.value =
      bundle && requested.job !== bundle.job
        ? { page: "overview", job: bundle.job, parameters: {} }
        : requested;
  };
  addEventListener("hashchange", read);
  read();
}
