import { expect, test } from "vitest";
import type { Finding } from "../api";
import type { TensorInfo, TensorNames } from "./source";
import { usualTensor } from "./usual";

const tensor = (name: string, collection: string): TensorInfo => ({
  name,
  collections: ["all", collection],
  dtype: "float32",
  shape: [2],
  workers: 1,
  is_shard: false,
  said: "",
});
const names: TensorNames = {
  collections: [
    { name: "all", count: 3 },
    { name: "weights", count: 1 },
    { name: "gradients", count: 2 },
  ],
  reductions: [],
  total: 3,
  tensors: [
    tensor("body", "weights"),
    tensor("gradient/body", "gradients"),
    tensor("gradient/head", "gradients"),
  ],
};
const about = (name: string | null): Finding => ({ tensor: name }) as Finding;

test("the first tensor of the picture that a finding names is shown", () => {
  expect(
    usualTensor(names, [about(null), about("gone"), about("body"), about("gradient/head")], ""),
  ).toBe("gradient/head");
});

test("without such a finding it is the first gradient, or the first of the chosen collection", () => {
  expect(usualTensor(names, [], "")).toBe("gradient/body");
  expect(usualTensor(names, [about("gradient/head")], "weights")).toBe("body");
  expect(usualTensor({ ...names, tensors: [] }, [], "")).toBe(null);
});
