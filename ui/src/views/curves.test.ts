import { expect, test } from "vitest";
import type { LineChartSpec } from "../generated/chart_specs";
import { curveTable, isPositive, valueAxis, valuesAt } from "./curves";

const spec: LineChartSpec = {
  mark: "line",
  title: "Loss",
  note: "",
  coarsened: "",
  x: [0, 10, 20],
  x_title: "step",
  x_unit: "",
  unit: "",
  is_logarithmic: false,
  low: null,
  high: null,
  curves: [
    {
      label: "train",
      values: [4, 2, 1],
      low: [3, 1.5, 0.5],
      high: [5, 3, 2],
      tone: "",
      has_markers: false,
    },
    {
      label: "eval",
      values: [null, 2.5, null],
      low: null,
      high: null,
      tone: "",
      has_markers: false,
    },
  ],
};
const everything = new Set<string>();

test("bands precede the curves that are drawn over them", () => {
  const table = curveTable(spec, everything);
  expect(table.columns).toEqual([
    [0, 10, 20],
    [5, 3, 2],
    [3, 1.5, 0.5],
    [4, 2, 1],
    [null, 2.5, null],
  ]);
  expect(table.extent).toEqual([0, 20]);
});

test("hiding a curve does not change the colors of the other curves", () => {
  const table = curveTable(spec, new Set(["train"]));
  expect(table.shown).toEqual([
    { label: "eval", index: 1, tone: "", hasBand: false, hasMarkers: false },
  ]);
  expect(table.columns.length).toBe(2);
});

test("the axis starts at zero if it is near, and respects the specified ends", () => {
  const free = { low: null, high: null };
  expect(valueAxis(free, 0.5, 5, false)[0]).toBe(0);
  expect(valueAxis({ low: -1, high: 10 }, 0.5, 5, false)).toEqual([-1, 10]);
  expect(valueAxis(free, 0.5, 5, true)[0]).toBeCloseTo(0.5 / 1.2);
  expect(valueAxis(free, null, null, false)).toEqual([0, 1]);
  expect(valueAxis(free, null, null, true)[0]).toBeGreaterThan(0);
});

test("curves far from zero fill the axis, and constant curves are centered", () => {
  const free = { low: null, high: null };
  expect(valueAxis(free, 90, 92, false).map((value) => value.toFixed(1))).toEqual(["89.9", "92.1"]);
  expect(valueAxis(free, 0.05, 0.05, false).map((value) => value.toFixed(4))).toEqual([
    "0.0475",
    "0.0525",
  ]);
});

test("logarithmic axes require positive values", () => {
  expect(isPositive(curveTable(spec, everything))).toBe(true);
  expect(
    isPositive(
      curveTable(
        {
          ...spec,
          curves: [
            { label: "a", values: [1, 0], low: null, high: null, tone: "", has_markers: false },
          ],
        },
        everything,
      ),
    ),
  ).toBe(false);
});

test("without a cursor the last value of each curve is read with its position", () => {
  const readings = valuesAt(spec, curveTable(spec, everything), null);
  expect(readings).toEqual([
    { label: "train", x: 20, value: 1 },
    { label: "eval", x: 10, value: 2.5 },
  ]);
});

test("at the cursor missing values are null", () => {
  const readings = valuesAt(spec, curveTable(spec, everything), 0);
  expect(readings).toEqual([
    { label: "train", x: 0, value: 4 },
    { label: "eval", x: 0, value: null },
  ]);
});

test("a single step has an axis", () => {
  expect(curveTable({ ...spec, x: [7], curves: [] }, everything).extent).toEqual([6.5, 7.5]);
});

test("curves with markers keep them", () => {
  const curves = spec.curves.map((curve) => ({ ...curve, has_markers: curve.label === "eval" }));
  expect(curveTable({ ...spec, curves }, new Set()).shown.map((curve) => curve.hasMarkers)).toEqual(
    [false, true],
  );
});
