// The headline of the current job, its key charts, and the charts that show each finding.

import { computed, effect, signal } from "@preact/signals";
import { getJson, jobPath } from "./api";
import type { HeadlineDocument } from "./generated/api_types";
import { always, loadWhile, type Resource } from "./resource";
import { isOpened, job } from "./state";
import { throttledUpdates } from "./throttled_updates";

const resource = signal<Resource<HeadlineDocument>>({ state: "loading", value: null, error: "" });
const openedJob = computed(() => (isOpened.value ? (job.value?.job ?? "") : ""));
const state = computed(() => job.value?.state);

/** The headline; null until it is loaded. */
export const headline = computed(() => resource.value.value);
export const headlineState = computed(() => resource.value.state);

/** Loads the headline of the job in the URL, and reloads it after updates. */
export function startHeadline(): void {
  let stop = (): void => {};
  effect(() => {
    const name = openedJob.value;
    stop();
    resource.value = { state: "loading", value: null, error: "" };
    if (!name) return;
    stop = loadWhile(
      (abort) => {
        void [throttledUpdates.value, state.value];
        return getJson<HeadlineDocument>(jobPath(name, "headline"), {}, abort);
      },
      always,
      resource,
    );
  });
}
