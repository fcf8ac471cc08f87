// Values of table cells, facts and axis ticks as text.

import { formatStamp, formatValue, UNKNOWN, unitLabel } from "./format";
import type { Cell, Column } from "./generated/chart_specs";
import { zone } from "./state";

/** A value as text; `unit` is a unit of the store, or `time` for an ISO time stamp. */
export function cellText(value: Cell | undefined, unit: string): string {
  if (value === null || value === undefined || value === "") return UNKNOWN;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return formatValue(value, unit);
  if (unit === "time") return formatStamp(Date.parse(value) / 1000, zone.value);
  return value;
}

/** A cell of a table; the unit can come from another column of the row. */
export function tableCell(columns: readonly Column[], row: readonly Cell[], index: number): string {
  const column = columns[index];
  const value = row[index];
  if (column?.name === "unit") return unitLabel(String(value ?? ""));
  const unit =
    column?.unit === "row"
      ? row[columns.findIndex((candidate) => candidate.name === "unit")]
      : column?.unit;
  return cellText(value, String(unit ?? ""));
}
