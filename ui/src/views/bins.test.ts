import { expect, test } from "vitest";
import { binsFor, highestCount, outline } from "./bins";

const groups = [
  { label: "worker 0", tone: "", values: [1, 2, 3, 4, 5] },
  { label: "worker 1", tone: "", values: [0, 9, null, 0, 0] },
];

test("few bins are not merged", () => {
  const bins = binsFor([0, 1, 2, 3, 4, 5], groups, 10);
  expect(bins.edges).toEqual([0, 1, 2, 3, 4, 5]);
  expect(bins.groups[1]?.counts).toEqual([0, 9, 0, 0, 0]);
});

test("merged bins preserve the counts", () => {
  const bins = binsFor([0, 1, 2, 3, 4, 5], groups, 3);
  expect(bins.edges).toEqual([0, 2, 4, 5]);
  expect(bins.groups[0]?.counts).toEqual([3, 7, 5]);
});

test("outlines step at the bin edges", () => {
  expect(outline([0, 1, 2], [5, 10], 10, (edge) => edge * 50)).toBe("M0 100V50H50V0H100V100");
});

test("the highest bin considers only visible groups", () => {
  const bins = binsFor([0, 1, 2, 3, 4, 5], groups, 10);
  expect(highestCount(bins, () => true)).toBe(9);
  expect(highestCount(bins, (label) => label === "worker 0")).toBe(5);
  expect(highestCount(bins, () => false)).toBe(1);
});
