import { expect, test } from "vitest";
import { parseColor, rampAt, shareOf } from "./heat_colors";

const ramp = ["#000000", "#0000ff", "#ffffff"].map(parseColor);

test("colors are interpolated between stops and clamped at the ends", () => {
  expect(rampAt(ramp, 0.25)).toEqual([0, 0, 128]);
  expect(rampAt(ramp, -1)).toEqual([0, 0, 0]);
  expect(rampAt(ramp, 2)).toEqual([255, 255, 255]);
});

test("positions are linear or logarithmic", () => {
  expect(shareOf(5, 0, 10, false)).toBe(0.5);
  expect(shareOf(1e-3, 1e-6, 1, true)).toBeCloseTo(0.5);
  expect(shareOf(0, 1e-6, 1, true)).toBe(0);
});

test("missing values have no position, and an empty range maps to the end", () => {
  expect(shareOf(null, 0, 1, false)).toBeNull();
  expect(shareOf(Number.NaN, 0, 1, false)).toBeNull();
  expect(shareOf(3, 3, 3, false)).toBe(1);
});
