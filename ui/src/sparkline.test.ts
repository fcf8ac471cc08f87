import { expect, test } from "vitest";
import { sparkLabel, sparkPath } from "./sparkline";

test("the highest value is at the top, the lowest at the bottom", () => {
  expect(sparkPath([1, 3, 2], 20, 10)).toBe("M0 10L10 0L20 5");
});

test("missing values are gaps", () => {
  expect(sparkPath([1, null, 2, 3], 30, 10)).toBe("M0 10M20 5L30 0");
});

test("constant values are a centered line", () => {
  expect(sparkPath([2, 2], 10, 10)).toBe("M0 5L10 5");
});

test("fewer than two finite values have no path", () => {
  expect(sparkPath([1], 10, 10)).toBe("");
  expect(sparkPath([Number.NaN, 1, Number.POSITIVE_INFINITY], 10, 10)).toBe("");
});

test("the label contains the first and the last value", () => {
  expect(sparkLabel("loss", [2.5, null, 0.25], String)).toBe("loss from 2.5 to 0.25");
  expect(sparkLabel("loss", [null], String)).toBe("");
});
