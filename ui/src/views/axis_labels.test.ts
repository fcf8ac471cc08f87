import { expect, test } from "vitest";
import { axisLabels } from "./axis_labels";

test("plain units are written on the last tick only", () => {
  expect(axisLabels([0, 50, 100], "steps/s")).toEqual(["0", "50", "100\u202fsteps/s"]);
});

test("units with prefixes are written on every tick", () => {
  expect(axisLabels([0.5, 1], "seconds")).toEqual(["500\u202fms", "1\u202fs"]);
});

test("ticks with equal labels get more digits", () => {
  expect(axisLabels([1.0475, 1.05, 1.0525], "")).toEqual(["1.0475", "1.05", "1.0525"]);
});

test("ticks without a value have no label", () => {
  expect(axisLabels([1, null, 10], "")).toEqual(["1", "", "10"]);
});
