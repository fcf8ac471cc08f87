import { describe, expect, it } from "vitest";
import type { MetricDocument } from "../api";
import { lineTable, toLineData } from "./line_data";
import { linesOf } from "./more_charts";
import { type Curve, type Curves, summed } from "./source";

function curve(key: string, mean: number[]): Curve {
  const values = new Float64Array(mean);
  return {
    key,
    unit: "percent",
    low: values.map((value) => value - 1),
    mean: values,
    high: values.map((value) => value + 1),
  };
}

const curves: Curves = {
  x: new Float64Array([0, 1]),
  byKey: new Map([
    ["a", curve("a", [10, NaN])],
    ["b", curve("b", [20, 5])],
  ]),
};

describe("lines of curves", () => {
  it("sum the finite values of several curves", () => {
    expect([...summed([curves.byKey.get("a")!, curves.byKey.get("b")!])!]).toEqual([30, 5]);
    expect(summed([])).toBeNull();
  });

  it("have a band if they consist of one curve", () => {
    const data = toLineData(
      curves,
      [
        { keys: ["a"], label: "a", color: "--c1", hasBand: true },
        { keys: ["a", "b"], label: "sum", color: "--c2", hasBand: true },
        { keys: ["gone"], label: "gone", color: "--c3" },
      ],
      "percent",
    )!;
    expect(data.lines.map((line) => [line.label, line.low !== undefined])).toEqual([
      ["a", true],
      ["sum", false],
    ]);
  });

  it("are listed in a table with empty cells for missing values", () => {
    const table = lineTable(
      "CPU",
      toLineData(curves, [{ keys: ["a"], label: "a", color: "--c1", hasBand: true }], "percent"),
    );
    expect(table.columns.map((column) => column.title)).toEqual(["Time", "a", "a, min", "a, max"]);
    expect(table.rows).toEqual([
      [0, 10, 9, 11],
      [1, null, null, null],
    ]);
  });
});

describe("a chart of any metric", () => {
  const metric = (devices: string[], has_whole = false): MetricDocument => ({
    metric: "m",
    unit: "watts",
    help: "",
    devices,
    has_whole,
  });

  it("has a line per device, or the mean of many devices", () => {
    expect(linesOf(metric(["gpu0", "gpu1"])).flatMap((line) => line.keys)).toEqual([
      "m:gpu0",
      "m:gpu1",
    ]);
    expect(
      linesOf(metric(Array.from({ length: 9 }, (_, i) => `gpu${i}`))).flatMap((line) => line.keys),
    ).toEqual(["m:*mean"]);
    expect(linesOf(metric([], true)).flatMap((line) => line.keys)).toEqual(["m"]);
  });

  it("does not request devices with a comma in their name", () => {
    expect(linesOf(metric(["1 python, x"])).flatMap((line) => line.keys)).toEqual(["m:*mean"]);
  });
});
