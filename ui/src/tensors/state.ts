// What the parts of the page share, all of it in the address: collection, statistic, chosen tensors, mode.

import { computed, signal } from "@preact/signals";
import { route, setParameters } from "../router";
import { extent, isLive, job } from "../state";
import type { TensorNames } from "./source";
import { usualTensor } from "./usual";

const MOST_CHOSEN = 12;
const LIVE_SECONDS = 5;

const parameter = (name: string): string => route.value.parameters[name] ?? "";

/** All that is known by name; it changes when tensors are added, so that what is shown by itself stays. */
export const knownNames = signal<TensorNames | null>(null);
const usual = computed(() =>
  knownNames.value
    ? usualTensor(knownNames.value, job.peek()?.findings.findings ?? [], collection.value)
    : null,
);
export const chosenNames = computed<string[]>(() => {
  const asked = parameter("tensors").split("\n").filter(Boolean);
  return asked.length || usual.value === null ? asked : [usual.value];
});
export const collection = computed(() => parameter("collection"));
export const statistic = computed(() => parameter("stat"));
export const curveStatistic = computed(() => parameter("curve") || "l2_norm");
export const search = computed(() => parameter("find"));
export const mode = computed(() => parameter("mode") || "train");
export const shape = computed<"ridge" | "heat">(() =>
  parameter("shape") === "ridge" ? "ridge" : "heat",
);
export const binning = computed<"linear" | "log">(() =>
  parameter("bins") === "log" ? "log" : "linear",
);
export const modes = computed(() => Object.keys(job.value?.steps ?? {}));

/** Changes now and then while the job runs, so that what depends on it is asked for again. */
export const freshness = computed(() =>
  isLive.value ? Math.floor(extent.value[1] / LIVE_SECONDS) : 0,
);

/** Chooses one tensor, or adds it to the others and takes it away again. */
export function chooseTensor(name: string, isAdded: boolean): void {
  const before = chosenNames.peek();
  const after = !isAdded
    ? [name]
    : before.includes(name)
      ? before.filter((one) => one !== name)
      : [...before, name].slice(-MOST_CHOSEN);
  setParameters({
    tensors: after.length ? after.join("\n") : null,
    step: null,
    row: null,
    column: null,
  });
}

const WORDS: Record<string, string> = {
  l2_norm: "norm",
  l1_norm: "L1 norm",
  abs_mean: "mean magnitude",
  abs_max: "largest magnitude",
  abs_min: "smallest magnitude",
  abs_std: "std of magnitudes",
  abs_variance: "variance of magnitudes",
  abs_sum: "sum of magnitudes",
  std: "standard deviation",
  zero_fraction: "fraction of zeros",
  nan_count: "NaN values",
  inf_count: "infinite values",
  update_ratio: "update ratio (at least)",
  min: "minimum",
  max: "maximum",
  prod: "product",
};
export const statisticWords = (name: string): string => WORDS[name] ?? name.replaceAll("_", " ");
