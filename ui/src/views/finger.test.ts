import { expect, test } from "vitest";
import { stretch } from "./finger";

test("a drag to the left selects what one to the right does", () => {
  expect(stretch(80, 20, 100)).toEqual(stretch(20, 80, 100));
  expect(stretch(20, 80, 100)).toEqual({ left: 20, width: 60 });
});

test("a finger that leaves the plot selects to its edge", () => {
  expect(stretch(50, 140, 100)).toEqual({ left: 50, width: 50 });
  expect(stretch(50, -3, 100)).toEqual({ left: 0, width: 50 });
});
