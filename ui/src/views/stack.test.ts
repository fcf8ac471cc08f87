import { expect, test } from "vitest";
import { stackOf } from "./stack";

const parts = [
  { label: "forward", tone: "forward", values: [1, null] },
  { label: "eval", tone: "", values: [0, 2] },
  { label: "backward", tone: "", values: [3, 2] },
];

test("parts are shares of the longest bar and keep the place of their color", () => {
  expect(stackOf(parts, 0, 4).map((one) => [one.label, one.percent, one.place])).toEqual([
    ["forward", 25, 0],
    ["backward", 75, 2],
  ]);
});

test("what is unknown or nothing has no slice", () => {
  expect(stackOf(parts, 1, 4).map((one) => one.label)).toEqual(["eval", "backward"]);
});
