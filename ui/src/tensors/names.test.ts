import { expect, test } from "vitest";
import { lineOf } from "./curves_card";
import { defaultCollection } from "./defaults";
import { matching } from "./name_list";
import type { TensorInfo, TensorNames } from "./source";

const info = (name: string, ...collections: string[]): TensorInfo => ({
  name,
  collections,
  dtype: "float32",
  shape: [2],
  workers: 1,
  is_shard: false,
  note: "",
});

test("tensors are found by a substring, in one collection or in all", () => {
  const all = [info("fc.1.weight", "weights"), info("gradient/fc.1.weight", "gradients")];
  expect(matching(all, "", "FC.1").length).toBe(2);
  expect(matching(all, "gradients", "fc").map((tensor) => tensor.name)).toEqual([
    "gradient/fc.1.weight",
  ]);
  expect(matching(all, "biases", "")).toEqual([]);
});

test("the default collection is gradients, then weights, then the first one", () => {
  const names = (...collections: string[]): TensorNames => ({
    collections: collections.map((name) => ({ name, count: 1 })),
    reductions: [],
    total: 0,
    tensors: [],
  });
  expect(defaultCollection(names("all", "weights", "gradients"))).toBe("gradients");
  expect(defaultCollection(names("all", "weights"))).toBe("weights");
  expect(defaultCollection(names("mine"))).toBe("mine");
});

test("curves with different steps share one axis", () => {
  const spec = lineOf({
    reduction: "max",
    mode: "train",
    series: [
      { name: "a", worker: 0, steps: [0, 10], values: [1, 2] },
      { name: "b", worker: 0, steps: [5], values: [null] },
    ],
  });
  expect(spec.x).toEqual([0, 5, 10]);
  expect(spec.curves.map((curve) => curve.values)).toEqual([
    [1, null, 2],
    [null, null, null],
  ]);
  expect(spec.curves.map((curve) => curve.label)).toEqual(["a", "b"]);
});

test("curves of several workers are labeled with the worker", () => {
  const series = { name: "a", steps: [0], values: [1] };
  const spec = lineOf({
    reduction: "max",
    mode: "train",
    series: [
      { ...series, worker: 0 },
      { ...series, worker: 1 },
    ],
  });
  expect(spec.curves.map((curve) => curve.label)).toEqual(["a (worker 0)", "a (worker 1)"]);
});
