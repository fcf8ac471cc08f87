// Draws findings as bands, lines and labels on charts.

import { color, SEVERITY } from "./colors";
import type { Range } from "./range";

const LINE_PIXELS = 3;
const LABEL_FONT = "10.5px Inter, system-ui, -apple-system, 'Segoe UI', sans-serif";
const LABEL_ROW = 13;
const LABEL_ROWS = 3;

/** A finding on an axis: a band, or a line if it is narrow. */
export type Mark = { id: string; rule: string; severity: string; message: string; range: Range };

/** The plot: its edges, and the position of a value on its axis, in the units of the canvas. */
export type Plot = {
  left: number;
  right: number;
  top: number;
  bottom: number;
  scale: number;
  at: (value: number) => number;
};

/** Draws bands below the data of a chart. */
export function drawBands(g: CanvasRenderingContext2D, plot: Plot, marks: readonly Mark[]): void {
  for (const { range, severity } of marks) {
    const from = Math.max(plot.left, plot.at(range[0]));
    const to = Math.min(plot.right, plot.at(range[1]));
    if (to < plot.left || from > plot.right) continue;
    const stroke = color(SEVERITY[severity] ?? "--c1");
    const isLine = to - from < LINE_PIXELS * plot.scale;
    g.save();
    g.fillStyle = stroke;
    g.globalAlpha = isLine ? 0.75 : 0.13;
    g.fillRect(
      from,
      plot.top,
      isLine ? Math.max(1.5 * plot.scale, to - from) : to - from,
      plot.bottom - plot.top,
    );
    if (!isLine && plot.at(range[0]) >= plot.left) {
      g.globalAlpha = 0.6;
      g.fillRect(from, plot.top, plot.scale, plot.bottom - plot.top);
    }
    g.restore();
  }
}

/** Places labels in rows so that they do not overlap; those without room are left out. */
export function placeLabels(
  marks: readonly { from: number; width: number }[],
  right: number,
  rows: number = LABEL_ROWS,
): { index: number; x: number; row: number }[] {
  const ends = new Array<number>(rows).fill(-Infinity);
  const placed: { index: number; x: number; row: number }[] = [];
  marks.forEach(({ from, width }, index) => {
    const x = Math.min(from, right - width);
    const row = ends.findIndex((end) => end <= x);
    if (row < 0) return;
    ends[row] = x + width;
    placed.push({ index, x, row });
  });
  return placed;
}

/** Draws the rules of bands at the top of a chart. */
export function drawLabels(g: CanvasRenderingContext2D, plot: Plot, marks: readonly Mark[]): void {
  const { scale } = plot;
  g.save();
  g.font = LABEL_FONT.replace("10.5px", `${10.5 * scale}px`);
  g.textBaseline = "middle";
  g.textAlign = "left";
  const visible = marks
    .filter(({ range }) => plot.at(range[1]) >= plot.left && plot.at(range[0]) <= plot.right)
    .sort((a, b) => a.range[0] - b.range[0]);
  const boxes = visible.map(({ range, rule }) => ({
    from: Math.max(plot.left, plot.at(range[0])) + 3 * scale,
    width: g.measureText(rule).width + 6 * scale,
  }));
  for (const { index, x, row } of placeLabels(boxes, plot.right)) {
    const { rule, severity } = visible[index]!;
    const y = plot.top + (row * LABEL_ROW + 1) * scale;
    g.globalAlpha = 0.85;
    g.fillStyle = color("--card");
    g.fillRect(x, y, boxes[index]!.width, (LABEL_ROW - 1) * scale);
    g.globalAlpha = 1;
    g.fillStyle = color(severity === "info" ? "--link" : (SEVERITY[severity] ?? "--c1"));
    g.fillText(rule, x + 2 * scale, y + ((LABEL_ROW - 1) / 2) * scale);
  }
  g.restore();
}
