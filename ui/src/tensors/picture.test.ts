import { expect, test } from "vitest";
import { pixelsOf } from "./picture";

const colors = {
  card: [0, 0, 0],
  above: [100, 0, 0],
  below: [0, 100, 0],
  wrong: [0, 0, 100],
} as const;

test("zero has the background color, the largest magnitude the full color", () => {
  expect([...pixelsOf([0, 4, -1, "NaN"], colors)]).toEqual([
    0, 0, 0, 255, 100, 0, 0, 255, 0, 50, 0, 255, 0, 0, 100, 255,
  ]);
});

test("a tensor of zeros has the background color", () => {
  expect([...pixelsOf([0], colors)]).toEqual([0, 0, 0, 255]);
});
