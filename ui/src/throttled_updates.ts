// Throttled updates for charts that are expensive to reload.

import { effect, signal, untracked } from "@preact/signals";
import { updates } from "./live";

const PAUSE_MS = 5000;

/** Incremented after updates, at most once every five seconds. */
export const throttledUpdates = signal(0);

let timer: ReturnType<typeof setTimeout> | undefined;

effect(() => {
  const count =
    updates.samples.value + updates.steps.value + updates.status.value + updates.findings.value;
  if (count === 0 || timer !== undefined) return;
  timer = setTimeout(() => {
    timer = undefined;
    untracked(() => (throttledUpdates.value += 1));
  }, PAUSE_MS);
});
