// State shared by all views: the job, time window, selection, hover time, theme and time format.
// Times are seconds since the start of the job; add `jobStart` for Unix time.

import { batch, computed, effect, signal } from "@preact/signals";
import type { JobDocument } from "./api";
import { bundle } from "./bundle";
import {
  clampRange,
  isSame,
  panRange,
  parseRange,
  type Range,
  rangeText,
  zoomRange,
} from "./range";
import { pushParameters, route, setParameters } from "./router";

export type Theme = "system" | "light" | "dark";
export type TimeStyle = "elapsed" | "clock";

function readPreference<T extends string>(name: string, values: readonly T[], fallback: T): T {
  try {
    const stored = localStorage.getItem(`sonde.${name}`) as T | null;
    return stored !== null && values.includes(stored) ? stored : fallback;
  } catch {
    return fallback;
  }
}

function writePreference(name: string, value: string): void {
  try {
    localStorage.setItem(`sonde.${name}`, value);
  } catch {
    // Without local storage the preference lasts until the page is closed.
  }
}

export const theme = signal<Theme>("system");
export const isSystemDark = signal(false);
export const shownTheme = computed<"light" | "dark">(() =>
  theme.value === "system" ? (isSystemDark.value ? "dark" : "light") : theme.value,
);
export const timeStyle = signal<TimeStyle>("elapsed");
export const zone = signal("UTC");

export const job = signal<JobDocument | null>(null);
/** Whether the job in the URL is loaded; until then `job` can be the previous one. */
export const isOpened = computed(() => job.value !== null && job.value.job === route.value.job);
export const jobStart = computed(() => job.value?.t0 ?? 0);
/** From the start to the last sample, or to the present. */
export const extent = signal<Range>([0, 1]);
export const view = signal<Range>([0, 1]);
export const isRunning = (state: string | undefined): boolean =>
  state === "running" || state === "starting" || state === "stopping";
/** Whether the server sends updates of the job. */
export const isLive = computed(() => bundle === null && isRunning(job.value?.state));
export const selection = signal<Range | null>(null);
export const hover = signal<number | null>(null);
/** The window to load data for: `view`, throttled during quick changes. */
export const requestedView = signal<Range>([0, 1]);
/** `all` grows with a live job, `end` follows its end, `fixed` stays. */
export const windowMode = signal<"all" | "end" | "fixed">("all");
export const isFollowing = computed(() => windowMode.value !== "fixed");

export const isFullView = computed(() => windowMode.value === "all");

function modeOf(range: Range): "all" | "end" | "fixed" {
  if (isSame(range, extent.peek())) return "all";
  const isAtEnd = range[1] >= extent.peek()[1] - (range[1] - range[0]) * 1e-6;
  return isAtEnd && isLive.peek() ? "end" : "fixed";
}

/** A change in one go, one of many while a wheel or two fingers move, or one that the page makes itself. */
export type Change = "single" | "continuous" | "replace";

const GESTURE_MS = 1000;
let changed = -Infinity;

/** Changes the window; the browser's Back button undoes it. */
export function setView(range: Range, change: Change = "single"): void {
  const next = clampRange(range, extent.peek());
  const now = performance.now();
  const isContinued =
    change === "replace" || (change === "continuous" && now - changed < GESTURE_MS);
  changed = now;
  batch(() => {
    windowMode.value = modeOf(next);
    view.value = windowMode.peek() === "all" ? next : rounded(next);
    const t = windowMode.peek() === "all" ? null : rangeText(next);
    (isContinued ? setParameters : pushParameters)({ t });
  });
}

/** Rounded as in the URL, so that a shared link shows the same window. */
const rounded = (range: Range): Range => parseRange(rangeText(range)) ?? range;

export function setSelection(range: Range | null): void {
  batch(() => {
    selection.value = range && rounded(range);
    setParameters({ sel: range ? rangeText(range) : null });
  });
}

export const showAll = (): void => setView(extent.peek());
export const zoomBy = (factor: number, around?: number, change?: Change): void => {
  const [from, to] = view.peek();
  setView(zoomRange(view.peek(), factor, around ?? (from + to) / 2, extent.peek()), change);
};
export const panBy = (share: number, change?: Change): void =>
  setView(panRange(view.peek(), share, extent.peek()), change);

/** Selects a time range and shows it with some margin. */
export function showRange(range: Range): void {
  const margin = Math.max((range[1] - range[0]) * 0.5, 1);
  batch(() => {
    setSelection(range);
    setView([range[0] - margin, range[1] + margin]);
  });
}

/** Extensions below this fraction of the window are deferred, because they are not visible. */
const VISIBLE_SHARE = 1 / 1000;

/** Extends the job to `end`; a following window moves or grows with it. */
export function extendTo(end: number): void {
  const width = view.peek()[1] - view.peek()[0];
  if (end - extent.peek()[1] < width * VISIBLE_SHARE) return;
  batch(() => {
    extent.value = [0, end];
    if (windowMode.peek() === "all") view.value = [0, end];
    else if (windowMode.peek() === "end") view.value = [end - width, end];
  });
}

/** Shows a job document, with the time window from the URL. */
export function showJob(document: JobDocument): void {
  const isNewJob = job.peek()?.job !== document.job;
  batch(() => {
    job.value = document;
    const end = Math.max(document.t1 - document.t0, 0.001);
    if (!isNewJob) return extendTo(end);
    extent.value = [0, end];
    hover.value = null;
    readAddress();
  });
}

/** Restores window and selection from the URL. */
export function readAddress(): void {
  const { t, sel } = route.peek().parameters;
  const requested = parseRange(t);
  const next = requested ? clampRange(requested, extent.peek()) : extent.peek();
  const requestedSelection = parseRange(sel);
  batch(() => {
    if (!isSame(next, view.peek())) view.value = next;
    windowMode.value = modeOf(next);
    if (!isSame(requestedSelection, selection.peek())) selection.value = requestedSelection;
  });
}

const THROTTLE_MS = 70;

/** Updates `requestedView` from `view`, at most once every THROTTLE_MS. */
function startThrottling(): void {
  let last = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const take = (): void => {
    timer = undefined;
    last = performance.now();
    requestedView.value = view.peek();
  };
  effect(() => {
    void view.value;
    if (timer !== undefined) return;
    const wait = THROTTLE_MS - (performance.now() - last);
    if (wait <= 0) take();
    else timer = setTimeout(take, wait);
  });
}

/** Binds theme, zone and time style to the page and to local storage. */
export function startState(): void {
  theme.value = readPreference("theme", ["system", "light", "dark"], "system");
  timeStyle.value = readPreference("time", ["elapsed", "clock"], "elapsed");
  zone.value = readPreference("zone", ["UTC", localZone()], localZone());
  const dark = matchMedia("(prefers-color-scheme: dark)");
  isSystemDark.value = dark.matches;
  dark.addEventListener("change", (event) => (isSystemDark.value = event.matches));
  effect(() => {
    document.documentElement.dataset.theme = shownTheme.value;
  });
  startThrottling();
  effect(() => writePreference("theme", theme.value));
  effect(() => writePreference("time", timeStyle.value));
  effect(() => writePreference("zone", zone.value));
}

export function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}
