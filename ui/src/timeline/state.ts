// State of the timeline page in the URL: workers, search, selected slice, collapsed tracks.

import { computed, signal } from "@preact/signals";
import type { DragMode } from "../gestures";
import { formatDevices, parseDevices } from "../nodes/device_ranges";
import { route, setParameters } from "../router";
import { job } from "../state";
import { formatSlicePath, parseSlicePath, type SlicePath } from "./source";

const FIRST_WORKERS = 4;
const MAX_WORKERS = 32;

export const ranks = computed(() => (job.value?.workers ?? []).map((worker) => worker.rank));

/** The displayed ranks. */
export const shownRanks = computed(() => {
  const requested = parseDevices(
    route.value.parameters.workers ?? route.value.parameters.worker ?? "",
    1 << 20,
  );
  const existing = requested?.filter((rank) => ranks.value.includes(rank)) ?? [];
  return existing.length ? existing.slice(0, MAX_WORKERS) : ranks.value.slice(0, FIRST_WORKERS);
});
export const shownWorkers = computed(() => shownRanks.value.join(","));

export function showRanks(selected: readonly number[]): void {
  setParameters({ workers: selected.length ? formatDevices(selected) : null });
}

export const find = computed(() => route.value.parameters.find ?? "");
export const setFind = (text: string): void => setParameters({ find: text || null });

export const chosen = computed<SlicePath | null>(() =>
  parseSlicePath(route.value.parameters.slice),
);
export const choose = (path: SlicePath | null): void =>
  setParameters({ slice: path ? formatSlicePath(path) : null });

/** Titles of collapsed tracks, on all workers. */
export const closed = computed<ReadonlySet<string>>(
  () => new Set((route.value.parameters.closed ?? "").split("\n").filter(Boolean)),
);
export function toggleTrack(title: string): void {
  const titles = new Set(closed.peek());
  if (!titles.delete(title)) titles.add(title);
  setParameters({ closed: titles.size ? [...titles].join("\n") : null });
}

export const dragMode = signal<DragMode>("select");
