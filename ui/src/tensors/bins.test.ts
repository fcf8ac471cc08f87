import { expect, test } from "vitest";
import {
  binAxis,
  chosenRows,
  edgeLabels,
  highestShare,
  linearBins,
  quantileAt,
  sharesAt,
} from "./bins";
import type { Histograms } from "./source";

/** Two steps: −2..−1 has 1, 1..2 has 2, one zero; then all in 1..2. */
const data: Histograms = {
  name: "w",
  steps: [0, 5],
  edges: [-2, -1, 1, 2],
  zeros: [1, 0],
  merged: 1,
  bins: 3,
  counts: [1, 0, 2, 0, 0, 4],
};

test("bins have equal width, with a slot for zeros", () => {
  const axis = binAxis([-2, -1, 0, 1], true);
  expect(axis.from).toEqual([0, 0.25, 0.75]);
  expect(axis.zero).toEqual([0.5, 0.75]);
  expect(binAxis([1, 2, 4], false)).toEqual({ from: [0, 0.5], to: [0.5, 1], zero: null });
});

test("shares include zeros in the total", () => {
  expect(sharesAt(data, 0)).toEqual({ shares: [0.25, 0, 0.5], zeros: 0.25 });
  expect(sharesAt(data, 1)).toEqual({ shares: [0, 0, 1], zeros: 0 });
  expect(highestShare(data)).toBe(1);
});

test("quantiles take zeros into account", () => {
  const histogram: Histograms = {
    ...data,
    edges: [-2, -1, 0, 1],
    counts: [2, 0, 1],
    zeros: [1],
    steps: [0],
  };
  expect(quantileAt(histogram, 0, 0.25)).toBe(-1.5);
  expect(quantileAt(histogram, 0, 0.7)).toBe(0);
  expect(quantileAt(histogram, 0, 1)).toBe(1);
  expect(quantileAt({ ...histogram, counts: [0, 0, 0], zeros: [0] }, 0, 0.5)).toBeNaN();
});

test("rows are spaced evenly from the first to the last", () => {
  expect(chosenRows(3, 10)).toEqual([0, 1, 2]);
  expect(chosenRows(11, 3)).toEqual([0, 5, 10]);
});

test("labels near zero are omitted", () => {
  const edges = [-4, -2, -1, 0, 1, 2, 4];
  const labels = edgeLabels(edges, binAxis(edges, true), 4);
  expect(labels.some((label) => label.value === 0)).toBe(true);
  expect(labels.length).toBeLessThanOrEqual(5);
});

test("conversion to linear bins distributes counts evenly", () => {
  const even = linearBins(
    { ...data, edges: [0, 1, 2, 4], counts: [10, 10, 20, 0, 0, 0], zeros: [0, 3] },
    8,
  );
  expect(even.bins).toBe(8);
  const first = Array.from(even.counts).slice(0, 8);
  expect(Math.max(...first) - Math.min(...first)).toBeLessThan(0.1);
  expect(first.reduce((sum, count) => sum + count, 0)).toBeCloseTo(40, 0);
  expect(
    Array.from(even.counts)
      .slice(8)
      .every((count) => count === 0),
  ).toBe(true);
});
