import { expect, test } from "vitest";
import { cellText, tableCell } from "./cells";
import type { Column } from "./specs";

test("numbers have their unit, texts stay as they are", () => {
  expect(cellText(0.5, "seconds")).toBe("500\u202fms");
  expect(cellText("gpu0", "seconds")).toBe("gpu0");
});

test("what is not known is a dash, and yes and no are words", () => {
  expect(cellText(null, "bytes")).toBe("–");
  expect(cellText(true, "")).toBe("yes");
});

test("a time stamp has its zone", () => {
  expect(cellText("2026-11-15T08:00:00.123456Z", "time")).toBe("2026-11-15 08:00:00 UTC");
});

test("shares below each other have one decimal", () => {
  const columns: Column[] = [
    { name: "percent", title: "Share", unit: "percent", is_number: true, tone: "" },
  ];
  expect([16.61, 0, 100].map((value) => tableCell(columns, [value], 0))).toEqual([
    "16.6\u202f%",
    "0.0\u202f%",
    "100.0\u202f%",
  ]);
});

test("where each row has its unit, its numbers are written in it", () => {
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
    "2.50\u202fMB/s",
  ]);
});
