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
    low: values.map((one) => one - 1),
    mean: values,
    high: values.map((one) => one + 1),
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
  it("add up what belongs together, of what is known", () => {
    expect([...summed([curves.byKey.get("a")!, curves.byKey.get("b")!])!]).toEqual([30, 5]);
    expect(summed([])).toBeNull();
  });

  it("have a band where one curve has one", () => {
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

  it("are told as a table, what is unknown as nothing", () => {
    const table = lineTable(
      "CPU",
      toLineData(curves, [{ keys: ["a"], label: "a", color: "--c1", hasBand: true }], "percent"),
    );
    expect(table.columns.map((column) => column.title)).toEqual([
      "since start",
      "a",
      "a, lowest",
      "a, highest",
    ]);
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

  it("has a line per device while they are few, else their mean", () => {
    expect(linesOf(metric(["gpu0", "gpu1"])).flatMap((line) => line.keys)).toEqual([
      "m:gpu0",
      "m:gpu1",
    ]);
    expect(
      linesOf(metric(Array.from({ length: 9 }, (_, i) => `gpu${i}`))).flatMap((line) => line.keys),
    ).toEqual(["m:*mean"]);
    expect(linesOf(metric([], true)).flatMap((line) => line.keys)).toEqual(["m"]);
  });

  it("never asks for a device whose name would break the question", () => {
    expect(linesOf(metric(["1 python, x"])).flatMap((line) => line.keys)).toEqual(["m:*mean"]);
  });
});
