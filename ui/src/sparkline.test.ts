import { expect, test } from "vitest";
import { sparkPath, sparkWords } from "./sparkline";

test("the highest value is at the top, the lowest at the bottom", () => {
  expect(sparkPath([1, 3, 2], 20, 10)).toBe("M0 10L10 0L20 5");
});

test("the curve is broken where nothing is known", () => {
  expect(sparkPath([1, null, 2, 3], 30, 10)).toBe("M0 10M20 5L30 0");
});

test("what never changes is a line in the middle", () => {
  expect(sparkPath([2, 2], 10, 10)).toBe("M0 5L10 5");
});

test("one value is no curve, and what is not a number is not known", () => {
  expect(sparkPath([1], 10, 10)).toBe("");
  expect(sparkPath([Number.NaN, 1, Number.POSITIVE_INFINITY], 10, 10)).toBe("");
});

test("the words say where it began and ended", () => {
  expect(sparkWords("loss", [2.5, null, 0.25], String)).toBe("loss from 2.5 to 0.25");
  expect(sparkWords("loss", [null], String)).toBe("");
});
