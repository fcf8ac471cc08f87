import { expect, test } from "vitest";
import { nextOrder, sortedIndices } from "./sorting";

const rows = [
  ["gpu10", 3],
  ["gpu9", null],
  ["cpu", 7],
  ["gpu1", 3],
] as const;

test("without an order the rows are unchanged", () => {
  expect(sortedIndices(rows, null)).toEqual([0, 1, 2, 3]);
});

test("numbers are sorted by value, missing values last in both directions", () => {
  expect(sortedIndices(rows, { column: 1, direction: "ascending" })).toEqual([0, 3, 2, 1]);
  expect(sortedIndices(rows, { column: 1, direction: "descending" })).toEqual([2, 0, 3, 1]);
});

test("names with numbers are sorted numerically", () => {
  expect(sortedIndices(rows, { column: 0, direction: "ascending" })).toEqual([2, 3, 1, 0]);
});

test("numbers start descending, names ascending, and a second click reverses the order", () => {
  expect(nextOrder(null, 1, true)).toEqual({ column: 1, direction: "descending" });
  expect(nextOrder(null, 0, false)).toEqual({ column: 0, direction: "ascending" });
  const once = { column: 1, direction: "descending" } as const;
  expect(nextOrder(once, 1, true)).toEqual({ column: 1, direction: "ascending" });
});
