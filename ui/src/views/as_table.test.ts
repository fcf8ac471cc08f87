import { expect, test } from "vitest";
import type { Spec } from "../generated/chart_specs";
import { asTable } from "./as_table";

const texts = { title: "Loss", note: "", coarsened: "" };

test("each curve becomes a column next to the axis", () => {
  const table = asTable({
    ...texts,
    mark: "line",
    x: [0, 10],
    x_title: "step",
    x_unit: "",
    unit: "",
    curves: [
      { label: "train", values: [2, null], low: null, high: null, tone: "", has_markers: false },
    ],
    is_logarithmic: false,
    low: null,
    high: null,
  });
  expect(table?.columns.map((column) => column.title)).toEqual(["step", "train"]);
  expect(table?.rows).toEqual([
    [0, 2],
    [10, null],
  ]);
});

test("bins are listed with their edges", () => {
  const part = { label: "worker 0", tone: "", values: [3, 4] };
  const spec: Spec = {
    ...texts,
    mark: "histogram",
    edges: [0, 0.5, 1],
    parts: [part],
    unit: "seconds",
    counted: "steps",
  };
  expect(asTable(spec)?.rows).toEqual([
    [0, 0.5, 3],
    [0.5, 1, 4],
  ]);
  expect(asTable(spec)?.columns.map((column) => column.unit)).toEqual(["seconds", "seconds", ""]);
});

test("bars keep their labels", () => {
  const bars: Spec = {
    ...texts,
    mark: "bars",
    labels: ["conv", "relu"],
    parts: [{ label: "self", tone: "", values: [1, 2] }],
    unit: "seconds",
  };
  expect(asTable(bars)?.rows).toEqual([
    ["conv", 1],
    ["relu", 2],
  ]);
});

test("text charts have no table", () => {
  expect(asTable({ ...texts, mark: "text", paragraphs: ["well"] })).toBeNull();
});
