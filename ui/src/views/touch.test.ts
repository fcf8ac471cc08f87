import { expect, test } from "vitest";
import { clampedSpan } from "./touch";

test("dragging left selects the same range as dragging right", () => {
  expect(clampedSpan(80, 20, 100)).toEqual(clampedSpan(20, 80, 100));
  expect(clampedSpan(20, 80, 100)).toEqual({ left: 20, width: 60 });
});

test("a drag beyond the plot selects up to its edge", () => {
  expect(clampedSpan(50, 140, 100)).toEqual({ left: 50, width: 50 });
  expect(clampedSpan(50, -3, 100)).toEqual({ left: 0, width: 50 });
});
