import { expect, test } from "vitest";
import { cellText, tableCell } from "./cells";
import type { Column } from "./generated/chart_specs";

test("numbers get a unit, texts are unchanged", () => {
  expect(cellText(0.5, "seconds")).toBe("500\u202fms");
  expect(cellText("gpu0", "seconds")).toBe("gpu0");
});

test("missing values are dashes, and booleans are yes or no", () => {
  expect(cellText(null, "bytes")).toBe("–");
  expect(cellText(true, "")).toBe("yes");
});

test("time stamps include the zone", () => {
  expect(cellText("2026-11-15T08:00:00.123456Z", "time")).toBe("2026-11-15 08:00:00 UTC");
});

test("percentages in tables read as they do elsewhere", () => {
  const columns: Column[] = [
    { name: "percent", title: "Share", unit: "percent", is_number: true, tone: "" },
  ];
  expect([16.61, 4.15, 0, 100].map((value) => tableCell(columns, [value], 0))).toEqual([
    "17%",
    "4.2%",
    "0%",
    "100%",
  ]);
});

test("numbers are formatted in the unit of their row", () => {
  const column = (name: string, unit: string, is_number: boolean): Column => ({
    name,
    title: name,
    unit,
    is_number,
    tone: "",
  });
  const columns = [
    column("metric", "", false),
    column("unit", "", false),
    column("p50", "row", true),
  ];
  const row = ["Network in", "bytes_per_second", 2_500_000];
  expect(columns.map((_, index) => tableCell(columns, row, index))).toEqual([
    "Network in",
    "bytes/s",
    "2.5\u202fMB/s",
  ]);
});
