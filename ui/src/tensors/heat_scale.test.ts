import { expect, test } from "vitest";
import {
  NOT_FINITE,
  rowFigures,
  rowHeight,
  scaleFor,
  shareOn,
  shortTensor,
  UNKNOWN,
  ZERO,
} from "./heat_scale";

test("magnitudes have a logarithmic scale with separate zeros", () => {
  const scale = scaleFor("l2_norm", [0, 1e-4, 1, NaN]);
  expect(scale).toEqual({ low: 1e-4, high: 1, isLogarithmic: true });
  expect(shareOn(scale, 1e-2)).toBeCloseTo(0.5);
  expect(shareOn(scale, 0)).toBe(ZERO);
  expect(shareOn(scale, NaN)).toBe(UNKNOWN);
  expect(shareOn(scale, Infinity)).toBe(NOT_FINITE);
});

test("zeros are visible without other values", () => {
  expect(shareOn(scaleFor("l2_norm", [0, 0, NaN]), 0)).toBe(ZERO);
  expect(shareOn(scaleFor("mean", [0, 0]), 0)).toBe(0);
});

test("fractions range from zero to one, signed values are linear", () => {
  expect(scaleFor("zero_fraction", [0.2])).toEqual({ low: 0, high: 1, isLogarithmic: false });
  const scale = scaleFor("mean", [-1, 3]);
  expect(scale).toEqual({ low: -1, high: 3, isLogarithmic: false });
  expect(shareOn(scale, 1)).toBe(0.5);
  expect(scaleFor("l2_norm", [NaN])).toMatchObject({ isLogarithmic: false });
});

test("a scale covers at most twelve orders of magnitude", () => {
  expect(scaleFor("l2_norm", [1e-30, 1]).low).toBe(1e-12);
});

test("row statistics ignore missing values", () => {
  expect(rowFigures([1, 2, NaN, 5, 3, 4], 1, 3)).toEqual({ first: 5, last: 4, low: 3, high: 5 });
  expect(rowFigures([NaN], 0, 1).first).toBeNaN();
});

test("rows fit the height, and names keep their end", () => {
  expect(rowHeight(10, 400)).toBe(17);
  expect(rowHeight(50, 400)).toBe(8);
  expect(rowHeight(5000, 400)).toBe(4);
  expect(shortTensor("transformer.h.10.weight", 12)).toBe("…h.10.weight");
});
