import { expect, test } from "vitest";
import { lineOf } from "./curves_card";
import { matching } from "./name_list";
import type { TensorInfo, TensorNames } from "./source";
import { usualCollection } from "./usual";

const info = (name: string, ...collections: string[]): TensorInfo => ({
  name,
  collections,
  dtype: "float32",
  shape: [2],
  workers: 1,
  is_shard: false,
  said: "",
});

test("names are found by a part of them, in one collection or in all", () => {
  const all = [info("fc.1.weight", "weights"), info("gradient/fc.1.weight", "gradients")];
  expect(matching(all, "", "FC.1").length).toBe(2);
  expect(matching(all, "gradients", "fc").map((one) => one.name)).toEqual(["gradient/fc.1.weight"]);
  expect(matching(all, "biases", "")).toEqual([]);
});

test("gradients come first, then weights, then whatever there is", () => {
  const names = (...known: string[]): TensorNames => ({
    collections: known.map((name) => ({ name, count: 1 })),
    reductions: [],
    total: 0,
    tensors: [],
  });
  expect(usualCollection(names("all", "weights", "gradients"))).toBe("gradients");
  expect(usualCollection(names("all", "weights"))).toBe("weights");
  expect(usualCollection(names("mine"))).toBe("mine");
});

test("curves of different steps share one axis", () => {
  const spec = lineOf({
    reduction: "max",
    mode: "train",
    series: [
      { name: "a", worker: 0, steps: [0, 10], values: [1, 2] },
      { name: "b", worker: 0, steps: [5], values: [null] },
    ],
  });
  expect(spec.x).toEqual([0, 5, 10]);
  expect(spec.curves.map((one) => one.values)).toEqual([
    [1, null, 2],
    [null, null, null],
  ]);
  expect(spec.curves.map((one) => one.label)).toEqual(["a", "b"]);
});

test("of several workers each curve has its own name", () => {
  const one = { name: "a", steps: [0], values: [1] };
  const spec = lineOf({
    reduction: "max",
    mode: "train",
    series: [
      { ...one, worker: 0 },
      { ...one, worker: 1 },
    ],
  });
  expect(spec.curves.map((curve) => curve.label)).toEqual(["a (worker 0)", "a (worker 1)"]);
});
