// What all views share: the job, one time window, one selection, one hover time, and how to show time and colors.
// Times are seconds since the job's start; `jobStart` makes Unix seconds of them.

import { batch, computed, effect, signal } from "@preact/signals";
import type { JobDocument } from "./api";
import {
  clampRange,
  isSame,
  panRange,
  parseRange,
  type Range,
  rangeText,
  zoomRange,
} from "./range";
import { route, setParameters } from "./router";

export type Theme = "system" | "light" | "dark";
export type TimeStyle = "elapsed" | "clock";

function kept<T extends string>(name: string, values: readonly T[], usual: T): T {
  try {
    const found = localStorage.getItem(`sonde.${name}`) as T | null;
    return found !== null && values.includes(found) ? found : usual;
  } catch {
    return usual;
  }
}

function keep(name: string, value: string): void {
  try {
    localStorage.setItem(`sonde.${name}`, value);
  } catch {
    // A browser that keeps nothing forgets the choice with the page.
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
/** Whether the job of the address is there; until then `job` may still be another one. */
export const isOpened = computed(() => job.value !== null && job.value.job === route.value.job);
export const jobStart = computed(() => job.value?.t0 ?? 0);
/** From the start to the last sample, or to now. */
export const extent = signal<Range>([0, 1]);
export const view = signal<Range>([0, 1]);
export const isRunning = (state: string | undefined): boolean =>
  state === "running" || state === "starting" || state === "stopping";
export const isLive = computed(() => isRunning(job.value?.state));
export const selection = signal<Range | null>(null);
export const hover = signal<number | null>(null);
/** The window that data are asked for: `view`, but not for each of many quick changes. */
export const askedView = signal<Range>([0, 1]);
/** `all` grows with a live job, `end` moves along with it, `fixed` stays. */
export const windowMode = signal<"all" | "end" | "fixed">("all");
export const isFollowing = computed(() => windowMode.value !== "fixed");

export const isWhole = computed(() => windowMode.value === "all");

function modeOf(range: Range): "all" | "end" | "fixed" {
  if (isSame(range, extent.peek())) return "all";
  const isAtEnd = range[1] >= extent.peek()[1] - (range[1] - range[0]) * 1e-6;
  return isAtEnd && isLive.peek() ? "end" : "fixed";
}

export function setView(range: Range): void {
  const next = clampRange(range, extent.peek());
  batch(() => {
    windowMode.value = modeOf(next);
    view.value = windowMode.peek() === "all" ? next : asWritten(next);
    setParameters({ t: windowMode.peek() === "all" ? null : rangeText(next) });
  });
}

/** As the address will say it, so that who follows the address sees the same. */
const asWritten = (range: Range): Range => parseRange(rangeText(range)) ?? range;

export function setSelection(range: Range | null): void {
  batch(() => {
    selection.value = range && asWritten(range);
    setParameters({ sel: range ? rangeText(range) : null });
  });
}

export const showAll = (): void => setView(extent.peek());
export const zoomBy = (factor: number, around?: number): void => {
  const [from, to] = view.peek();
  setView(zoomRange(view.peek(), factor, around ?? (from + to) / 2, extent.peek()));
};
export const panBy = (share: number): void => setView(panRange(view.peek(), share, extent.peek()));

/** Shows a stretch of time with some room around it, and selects it. */
export function showRange(range: Range): void {
  const room = Math.max((range[1] - range[0]) * 0.5, 1);
  batch(() => {
    setSelection(range);
    setView([range[0] - room, range[1] + room]);
  });
}

/** News narrower than this share of the window wait until there are more: they would not be seen. */
const SEEN_SHARE = 1 / 1000;

/** The job's data now reach to `end`; a window that follows moves or grows with them. */
export function extendTo(end: number): void {
  const width = view.peek()[1] - view.peek()[0];
  if (end - extent.peek()[1] < width * SEEN_SHARE) return;
  batch(() => {
    extent.value = [0, end];
    if (windowMode.peek() === "all") view.value = [0, end];
    else if (windowMode.peek() === "end") view.value = [end - width, end];
  });
}

/** Takes over a job document: its extent, and the window that the address asks for. */
export function showJob(document: JobDocument): void {
  const isOther = job.peek()?.job !== document.job;
  batch(() => {
    job.value = document;
    const end = Math.max(document.t1 - document.t0, 0.001);
    if (!isOther) return extendTo(end);
    extent.value = [0, end];
    hover.value = null;
    readAddress();
  });
}

/** Window and selection as the address says them. */
export function readAddress(): void {
  const { t, sel } = route.peek().parameters;
  const wanted = parseRange(t);
  const next = wanted ? clampRange(wanted, extent.peek()) : extent.peek();
  const wantedSelection = parseRange(sel);
  batch(() => {
    if (!isSame(next, view.peek())) view.value = next;
    windowMode.value = modeOf(next);
    if (!isSame(wantedSelection, selection.peek())) selection.value = wantedSelection;
  });
}

const QUICK_MS = 70;

/** Lets `askedView` follow `view`: at once, and while it changes quickly every now and then. */
function startAsking(): void {
  let last = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const take = (): void => {
    timer = undefined;
    last = performance.now();
    askedView.value = view.peek();
  };
  effect(() => {
    void view.value;
    if (timer !== undefined) return;
    const wait = QUICK_MS - (performance.now() - last);
    if (wait <= 0) take();
    else timer = setTimeout(take, wait);
  });
}

/** Connects theme, zone and time style with the page and the browser's memory. */
export function startState(): void {
  theme.value = kept("theme", ["system", "light", "dark"], "system");
  timeStyle.value = kept("time", ["elapsed", "clock"], "elapsed");
  zone.value = kept("zone", ["UTC", localZone()], localZone());
  const dark = matchMedia("(prefers-color-scheme: dark)");
  isSystemDark.value = dark.matches;
  dark.addEventListener("change", (event) => (isSystemDark.value = event.matches));
  effect(() => {
    document.documentElement.dataset.theme = shownTheme.value;
  });
  startAsking();
  effect(() => keep("theme", theme.value));
  effect(() => keep("time", timeStyle.value));
  effect(() => keep("zone", zone.value));
}

export function localZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}
