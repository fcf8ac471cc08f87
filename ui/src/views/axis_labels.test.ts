import { expect, test } from "vitest";
import { axisLabels } from "./axis_labels";

test("a plain unit stands at the last mark only", () => {
  expect(axisLabels([0, 50, 100], "steps/s")).toEqual(["0", "50", "100\u202fsteps/s"]);
});

test("units with prefixes stand at every mark", () => {
  expect(axisLabels([0.5, 1], "seconds")).toEqual(["500\u202fms", "1.00\u202fs"]);
});

test("marks that would read the same have more digits", () => {
  expect(axisLabels([1.0475, 1.05, 1.0525], "")).toEqual(["1.0475", "1.05", "1.0525"]);
});

test("marks without a value have no label", () => {
  expect(axisLabels([1, null, 10], "")).toEqual(["1", "", "10"]);
});
