import { expect, test } from "vitest";
import { nextOrder, sortedIndices } from "./sorting";

const rows = [
  ["gpu10", 3],
  ["gpu9", null],
  ["cpu", 7],
  ["gpu1", 3],
] as const;

test("without an order the rows stay as they are", () => {
  expect(sortedIndices(rows, null)).toEqual([0, 1, 2, 3]);
});

test("numbers are sorted by their size, the unknown last both ways", () => {
  expect(sortedIndices(rows, { column: 1, direction: "ascending" })).toEqual([0, 3, 2, 1]);
  expect(sortedIndices(rows, { column: 1, direction: "descending" })).toEqual([2, 0, 3, 1]);
});

test("names with numbers are sorted as people count", () => {
  expect(sortedIndices(rows, { column: 0, direction: "ascending" })).toEqual([2, 3, 1, 0]);
});

test("a number begins with its largest, a name with its first letter, a second click turns", () => {
  expect(nextOrder(null, 1, true)).toEqual({ column: 1, direction: "descending" });
  expect(nextOrder(null, 0, false)).toEqual({ column: 0, direction: "ascending" });
  const once = { column: 1, direction: "descending" } as const;
  expect(nextOrder(once, 1, true)).toEqual({ column: 1, direction: "ascending" });
});
