import { expect, test } from "vitest";
import type { Spec } from "../specs";
import { asTable } from "./as_table";

const words = { title: "Loss", note: "", coarsened: "" };

test("curves become a column each, beside their axis", () => {
  const found = asTable({
    ...words,
    mark: "line",
    x: [0, 10],
    x_title: "step",
    x_unit: "",
    unit: "",
    curves: [{ label: "train", values: [2, null], low: null, high: null, tone: "" }],
    is_logarithmic: false,
    low: null,
    high: null,
  });
  expect(found?.columns.map((one) => one.title)).toEqual(["step", "train"]);
  expect(found?.rows).toEqual([
    [0, 2],
    [10, null],
  ]);
});

test("bins say from where to where they reach", () => {
  const part = { label: "worker 0", tone: "", values: [3, 4] };
  const spec: Spec = {
    ...words,
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
  expect(asTable(spec)?.columns.map((one) => one.unit)).toEqual(["seconds", "seconds", ""]);
});

test("bars and rows of a heatmap keep their names", () => {
  const bars: Spec = {
    ...words,
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

test("a text needs no table", () => {
  expect(asTable({ ...words, mark: "text", paragraphs: ["well"] })).toBeNull();
});
