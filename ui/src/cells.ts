// A cell of a table, a figure, a mark on an axis: whatever it holds, as text.

import { formatStamp, formatValue, unitLabel } from "./format";
import type { Cell, Column } from "./specs";
import { zone } from "./state";

const UNKNOWN = "–";

/** A value as people read it; `unit` is one of the store's, or `time` for an ISO text. */
export function cellText(value: Cell | undefined, unit: string): string {
  if (value === null || value === undefined || value === "") return UNKNOWN;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return formatValue(value, unit);
  if (unit === "time") return formatStamp(Date.parse(value) / 1000, zone.value);
  return value;
}

/** A cell among its neighbours: in some tables each row has a unit of its own. */
export function tableCell(columns: readonly Column[], row: readonly Cell[], index: number): string {
  const column = columns[index];
  const value = row[index];
  if (column?.name === "unit") return unitLabel(String(value ?? ""));
  const unit =
    column?.unit === "row" ? row[columns.findIndex((one) => one.name === "unit")] : column?.unit;
  // below each other, shares are compared: all have one decimal
  if (unit === "percent" && typeof value === "number") return `${value.toFixed(1)}\u202f%`;
  return cellText(value, String(unit ?? ""));
}
