// State of the tensors page in the URL: collection, statistic, selected tensors, mode.

import { computed, signal } from "@preact/signals";
import { route, setParameters } from "../router";
import { extent, isLive, job } from "../state";
import { defaultTensor } from "./defaults";
import type { TensorNames } from "./source";

const MAX_SELECTED = 12;
const LIVE_SECONDS = 5;

const parameter = (name: string): string => route.value.parameters[name] ?? "";

/** All tensor names; updated when tensors are added, so that the default selection is stable. */
export const tensorNames = signal<TensorNames | null>(null);
const defaultName = computed(() =>
  tensorNames.value
    ? defaultTensor(tensorNames.value, job.peek()?.findings.findings ?? [], collection.value)
    : null,
);
export const chosenNames = computed<string[]>(() => {
  const requested = parameter("tensors").split("\n").filter(Boolean);
  return requested.length || defaultName.value === null ? requested : [defaultName.value];
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

/** Changes every LIVE_SECONDS while the job runs; dependent data is reloaded. */
export const freshness = computed(() =>
  isLive.value ? Math.floor(extent.value[1] / LIVE_SECONDS) : 0,
);

/** Selects a tensor, or toggles it in the selection. */
export function chooseTensor(name: string, isAdded: boolean): void {
  const before = chosenNames.peek();
  const after = !isAdded
    ? [name]
    : before.includes(name)
      ? before.filter((selected) => selected !== name)
      : [...before, name].slice(-MAX_SELECTED);
  setParameters({
    tensors: after.length ? after.join("\n") : null,
    step: null,
    row: null,
    column: null,
  });
}

const LABELS: Record<string, string> = {
  l2_norm: "L2 norm",
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
  update_ratio: "update ratio (lower bound)",
  min: "minimum",
  max: "maximum",
  prod: "product",
};
export const statisticLabel = (name: string): string => LABELS[name] ?? name.replaceAll("_", " ");
