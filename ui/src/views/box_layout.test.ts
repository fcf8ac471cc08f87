import { expect, test } from "vitest";
import type { Box } from "../generated/chart_specs";
import { boxDomain, boxGeometry } from "./box_layout";

const box: Box = {
  label: "gpu0",
  p5: 10,
  p25: 20,
  p50: 50,
  p75: 80,
  p95: 90,
  minimum: 5,
  maximum: 100,
  count: 7,
  tone: "",
};

test("the axis uses the specified ends", () => {
  expect(boxDomain([box], 0, 100)).toEqual([0, 100]);
});

test("without specified ends the axis starts at zero if it is near, else at the minimum", () => {
  expect(boxDomain([box], null, null)).toEqual([0, 100]);
  expect(boxDomain([{ ...box, minimum: 90 }], null, null)).toEqual([90, 100]);
});

test("a single value and an empty plot have an axis", () => {
  expect(boxDomain([{ ...box, minimum: 4, maximum: 4 }], 4, null)).toEqual([4, 8]);
  expect(boxDomain([], null, null)).toEqual([0, 1]);
});

test("a box is positioned by its percentiles", () => {
  expect(boxGeometry(box, [0, 100])).toEqual({
    whisker: [10, 90],
    box: [20, 80],
    median: 50,
    extremes: [5, 100],
  });
});

test("values beyond the axis are clamped", () => {
  expect(boxGeometry(box, [0, 50]).whisker).toEqual([20, 100]);
});
