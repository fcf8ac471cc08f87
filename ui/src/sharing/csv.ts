// A table as CSV (RFC 4180), with numbers as recorded.

import type { Cell, Column, TableSpec } from "../generated/chart_specs";

/** Spreadsheets run texts that start with these characters as formulas. */
const FORMULA = /^[=+\-@\t\r]/;

function field(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function cell(value: Cell): string {
  if (value === null) return "";
  if (typeof value !== "string") return String(value);
  return field(FORMULA.test(value) ? `'${value}` : value);
}

function head({ title, name, unit }: Column): string {
  const text = title || name;
  return field(unit && unit !== "row" && unit !== "time" ? `${text} (${unit})` : text);
}

export function csvOf({ columns, rows }: TableSpec): string {
  const lines = [columns.map(head), ...rows.map((row) => row.map(cell))];
  return lines.map((line) => `${line.join(",")}\r\n`).join("");
}
