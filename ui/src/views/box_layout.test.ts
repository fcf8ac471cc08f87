import { expect, test } from "vitest";
import type { Box } from "../specs";
import { boxDomain, boxPlaces } from "./box_layout";

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

test("the axis has the ends that are told", () => {
  expect(boxDomain([box], 0, 100)).toEqual([0, 100]);
});

test("without ends the axis begins at zero where that is near, else at the least", () => {
  expect(boxDomain([box], null, null)).toEqual([0, 100]);
  expect(boxDomain([{ ...box, minimum: 90 }], null, null)).toEqual([90, 100]);
});

test("one value has an axis, too, and so has no box at all", () => {
  expect(boxDomain([{ ...box, minimum: 4, maximum: 4 }], 4, null)).toEqual([4, 8]);
  expect(boxDomain([], null, null)).toEqual([0, 1]);
});

test("a box lies where its percentiles are", () => {
  expect(boxPlaces(box, [0, 100])).toEqual({
    whisker: [10, 90],
    box: [20, 80],
    median: 50,
    extremes: [5, 100],
  });
});

test("what lies beyond the axis ends at its end", () => {
  expect(boxPlaces(box, [0, 50]).whisker).toEqual([20, 100]);
});
