import { expect, test } from "vitest";
import type { Finding } from "../api";
import { defaultTensor } from "./defaults";
import type { TensorInfo, TensorNames } from "./source";

const tensor = (name: string, collection: string): TensorInfo => ({
  name,
  collections: ["all", collection],
  dtype: "float32",
  shape: [2],
  workers: 1,
  is_shard: false,
  note: "",
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

test("the default is the first tensor of the collection with a finding", () => {
  expect(
    defaultTensor(names, [about(null), about("gone"), about("body"), about("gradient/head")], ""),
  ).toBe("gradient/head");
});

test("without findings the default is the first tensor of the collection", () => {
  expect(defaultTensor(names, [], "")).toBe("gradient/body");
  expect(defaultTensor(names, [about("gradient/head")], "weights")).toBe("body");
  expect(defaultTensor({ ...names, tensors: [] }, [], "")).toBe(null);
});
