// What the timeline's parts share, all of it in the address: workers, search, chosen slice, closed tracks.

import { computed, signal } from "@preact/signals";
import type { DragMeans } from "../gestures";
import { formatDevices, parseDevices } from "../nodes/device_ranges";
import { route, setParameters } from "../router";
import { job } from "../state";
import { parsePlace, placeText, type SlicePlace } from "./source";

const FIRST_WORKERS = 4;
const MOST_WORKERS = 32;

export const ranks = computed(() => (job.value?.workers ?? []).map((one) => one.rank));

/** The ranks that are shown. */
export const shownRanks = computed(() => {
  const wanted = parseDevices(
    route.value.parameters.workers ?? route.value.parameters.worker ?? "",
    1 << 20,
  );
  const known = wanted?.filter((rank) => ranks.value.includes(rank)) ?? [];
  return known.length ? known.slice(0, MOST_WORKERS) : ranks.value.slice(0, FIRST_WORKERS);
});
export const shownWorkers = computed(() => shownRanks.value.join(","));

export function showRanks(wanted: readonly number[]): void {
  setParameters({ workers: wanted.length ? formatDevices(wanted) : null });
}

export const find = computed(() => route.value.parameters.find ?? "");
export const setFind = (text: string): void => setParameters({ find: text || null });

export const chosen = computed<SlicePlace | null>(() => parsePlace(route.value.parameters.slice));
export const choose = (place: SlicePlace | null): void =>
  setParameters({ slice: place ? placeText(place) : null });

/** Titles of tracks that are closed, by name on every worker alike. */
export const closed = computed<ReadonlySet<string>>(
  () => new Set((route.value.parameters.closed ?? "").split("\n").filter(Boolean)),
);
export function toggleTrack(title: string): void {
  const titles = new Set(closed.peek());
  if (!titles.delete(title)) titles.add(title);
  setParameters({ closed: titles.size ? [...titles].join("\n") : null });
}

export const dragMeans = signal<DragMeans>("select");
