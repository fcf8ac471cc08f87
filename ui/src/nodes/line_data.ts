// Server curves as chart lines and as table rows.

import type { TableSpec } from "../generated/chart_specs";
import type { Line, LineData } from "../line";
import { numberColumn, tableSpec } from "./chart_block";
import { type Curve, type Curves, summed } from "./source";

/** The curves of a line; several are summed. */
export type LineRequest = {
  keys: readonly string[];
  label: string;
  color: string;
  hasBand?: boolean;
  scale?: number; // multiplies the values
  isFilled?: boolean;
};

export function toLineData(
  curves: Curves | null,
  requests: readonly LineRequest[],
  unit: string,
): LineData | null {
  if (!curves) return null;
  const lines: Line[] = [];
  for (const { keys, label, color, hasBand, scale, isFilled } of requests) {
    const available = keys
      .map((key) => curves.byKey.get(key))
      .filter((curve): curve is Curve => curve !== undefined);
    const mean = summed(available);
    if (!mean) continue;
    const single = available.length === 1 && hasBand ? available[0] : undefined;
    lines.push({
      key: keys.join("+"),
      label,
      color,
      mean: scale === undefined ? mean : mean.map((value) => value * scale),
      low: single?.low,
      high: single?.high,
      isFilled: isFilled ?? false,
    });
  }
  return { x: curves.x, lines, unit };
}

/** The data of a line chart as a table; times are seconds since the start. */
export function lineTable(title: string, data: LineData | null): TableSpec {
  if (!data) return tableSpec(title, [], []);
  const columns = [numberColumn("Time", "seconds")];
  for (const line of data.lines) {
    columns.push(numberColumn(line.label, data.unit));
    if (line.low)
      columns.push(
        numberColumn(`${line.label}, min`, data.unit),
        numberColumn(`${line.label}, max`, data.unit),
      );
  }
  const finite = (value: number | undefined): number | null =>
    value === undefined || Number.isNaN(value) ? null : value;
  const rows = Array.from(data.x, (at, i) => [
    at,
    ...data.lines.flatMap((line) =>
      line.low
        ? [finite(line.mean[i]), finite(line.low[i]), finite(line.high?.[i])]
        : [finite(line.mean[i])],
    ),
  ]);
  return tableSpec(title, columns, rows);
}
