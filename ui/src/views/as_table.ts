// The data of a chart as a table, for screen readers and exact values.

import type { BarSeries, Cell, Column, Reals, Spec, TableSpec } from "../generated/chart_specs";

/** The values of a chart as rows; null if the chart is text already. */
export function asTable(spec: Spec): TableSpec | null {
  switch (spec.mark) {
    case "line":
      return table(
        spec,
        [
          column(spec.x_title, spec.x_unit),
          ...spec.curves.map((curve) => column(curve.label, spec.unit)),
        ],
        transposed([spec.x, ...spec.curves.map((curve) => curve.values)]),
      );
    case "bars":
    case "stacked_bars":
      return table(
        spec,
        [text(""), ...spec.parts.map((series) => column(series.label, spec.unit))],
        spec.labels.map((label, row) => [label, ...valuesAt(spec.parts, row)]),
      );
    case "histogram":
      return table(
        spec,
        [
          column("from", spec.unit),
          column("to", spec.unit),
          ...spec.parts.map((series) => column(`${series.label}: ${spec.counted}`, "")),
        ],
        spec.edges
          .slice(0, -1)
          .map((edge, row) => [edge, spec.edges[row + 1] ?? null, ...valuesAt(spec.parts, row)]),
      );
    case "box_plot":
      return table(
        spec,
        [text(""), ...BOX.map(([title]) => column(title, spec.unit)), column("values", "")],
        spec.boxes.map((box) => [box.label, ...BOX.map(([, name]) => box[name]), box.count]),
      );
    case "heatmap":
      return heatTable(spec);
    case "lanes":
      return table(
        spec,
        [text("lane"), text("what"), column("from", "seconds"), column("to", "seconds")],
        spec.lanes.flatMap(({ label, spans }) =>
          spans.map((span) => [label, span.label, span.start, span.end]),
        ),
      );
    default:
      return null;
  }
}

const BOX = [
  ["min", "minimum"],
  ["p5", "p5"],
  ["p25", "p25"],
  ["median", "p50"],
  ["p75", "p75"],
  ["p95", "p95"],
  ["max", "maximum"],
] as const;

function heatTable(spec: Extract<Spec, { mark: "heatmap" }>): TableSpec {
  const heads = spec.columns.length
    ? spec.columns.map((name) => column(name, spec.unit))
    : spec.x.map((at) => column(`${spec.x_title} ${at ?? ""}`.trim(), spec.unit));
  const rows = spec.rows.map((label, row) => [label, ...(spec.values[row] ?? [])]);
  return table(spec, [text(""), ...heads], rows);
}

function table(spec: Spec, columns: Column[], rows: Cell[][]): TableSpec {
  const { title, note, coarsened } = spec;
  return { mark: "table", title, note, coarsened, columns, rows, total: null, is_quiet: false };
}

function column(title: string, unit: string): Column {
  return { name: title, title, unit, is_number: true, tone: "" };
}

function text(title: string): Column {
  return { name: title, title, unit: "", is_number: false, tone: "" };
}

function valuesAt(series: readonly BarSeries[], row: number): Reals {
  return series.map((entry) => entry.values[row] ?? null);
}

function transposed(columns: readonly Reals[]): Cell[][] {
  return (columns[0] ?? []).map((_, row) => columns.map((column) => column[row] ?? null));
}
