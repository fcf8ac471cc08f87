import { expect, test } from "vitest";
import { binsFor, highestCount, outline } from "./bins";

const parts = [
  { label: "worker 0", tone: "", values: [1, 2, 3, 4, 5] },
  { label: "worker 1", tone: "", values: [0, 9, null, 0, 0] },
];

test("few bins stay as they are", () => {
  const found = binsFor([0, 1, 2, 3, 4, 5], parts, 10);
  expect(found.edges).toEqual([0, 1, 2, 3, 4, 5]);
  expect(found.parts[1]?.counts).toEqual([0, 9, 0, 0, 0]);
});

test("many bins become fewer, and none of what was counted is lost", () => {
  const found = binsFor([0, 1, 2, 3, 4, 5], parts, 3);
  expect(found.edges).toEqual([0, 2, 4, 5]);
  expect(found.parts[0]?.counts).toEqual([3, 7, 5]);
});

test("an outline goes up and down at the edges", () => {
  expect(outline([0, 1, 2], [5, 10], 10, (edge) => edge * 50)).toBe("M0 100V50H50V0H100V100");
});

test("the highest bin is that of what is shown", () => {
  const found = binsFor([0, 1, 2, 3, 4, 5], parts, 10);
  expect(highestCount(found, () => true)).toBe(9);
  expect(highestCount(found, (label) => label === "worker 0")).toBe(5);
  expect(highestCount(found, () => false)).toBe(1);
});
