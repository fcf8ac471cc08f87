import { expect, test } from "vitest";
import { stackOf } from "./stack";

const series = [
  { label: "forward", tone: "forward", values: [1, null] },
  { label: "eval", tone: "", values: [0, 2] },
  { label: "backward", tone: "", values: [3, 2] },
];

test("segments are percentages of the longest bar and keep their color index", () => {
  expect(stackOf(series, 0, 4).map((slice) => [slice.label, slice.percent, slice.index])).toEqual([
    ["forward", 25, 0],
    ["backward", 75, 2],
  ]);
});

test("missing and zero values have no segment", () => {
  expect(stackOf(series, 1, 4).map((slice) => slice.label)).toEqual(["eval", "backward"]);
});
