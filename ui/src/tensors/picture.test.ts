import { expect, test } from "vitest";
import { exactText, pixelsOf } from "./picture";

const colors = {
  card: [0, 0, 0],
  above: [100, 0, 0],
  below: [0, 100, 0],
  wrong: [0, 0, 100],
} as const;

test("zero is the card, the farthest value is the full color, no number has its own", () => {
  expect([...pixelsOf([0, 4, -1, "NaN"], colors)]).toEqual([
    0, 0, 0, 255, 100, 0, 0, 255, 0, 50, 0, 255, 0, 0, 100, 255,
  ]);
});

test("a tensor of zeros is a blank card", () => {
  expect([...pixelsOf([0], colors)]).toEqual([0, 0, 0, 255]);
});

test("numbers have four digits that count", () => {
  expect([0, -0.123456, 3, 0.0000123, 12345.6, undefined, NaN].map(exactText)).toEqual([
    "0",
    "\u22120.1235",
    "3",
    "1.23e\u22125",
    "1.235e+4",
    "–",
    "–",
  ]);
});
