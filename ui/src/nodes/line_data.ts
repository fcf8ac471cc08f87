// Curves of the server as lines of a chart, and as rows of a table.

import type { Line, LineData } from "../line";
import type { TableSpec } from "../specs";
import { numberColumn, tableSpec } from "./chart_block";
import { type Curve, type Curves, summed } from "./source";

/** Which curves make a line: several are added up. */
export type Wanted = { keys: readonly string[]; label: string; color: string; hasBand?: boolean };

export function toLineData(
  curves: Curves | null,
  wanted: readonly Wanted[],
  unit: string,
): LineData | null {
  if (!curves) return null;
  const lines: Line[] = [];
  for (const { keys, label, color, hasBand } of wanted) {
    const found = keys
      .map((key) => curves.byKey.get(key))
      .filter((one): one is Curve => one !== undefined);
    const mean = summed(found);
    if (!mean) continue;
    const only = found.length === 1 && hasBand ? found[0] : undefined;
    lines.push({ key: keys.join("+"), label, color, mean, low: only?.low, high: only?.high });
  }
  return { x: curves.x, lines, unit };
}

/** All values that are drawn; times in seconds since the start. */
export function lineTable(title: string, data: LineData | null): TableSpec {
  if (!data) return tableSpec(title, [], []);
  const columns = [numberColumn("since start", "seconds")];
  for (const line of data.lines) {
    columns.push(numberColumn(line.label, data.unit));
    if (line.low)
      columns.push(
        numberColumn(`${line.label}, lowest`, data.unit),
        numberColumn(`${line.label}, highest`, data.unit),
      );
  }
  const known = (value: number | undefined): number | null =>
    value === undefined || Number.isNaN(value) ? null : value;
  const rows = Array.from(data.x, (at, i) => [
    at,
    ...data.lines.flatMap((line) =>
      line.low
        ? [known(line.mean[i]), known(line.low[i]), known(line.high?.[i])]
        : [known(line.mean[i])],
    ),
  ]);
  return tableSpec(title, columns, rows);
}
