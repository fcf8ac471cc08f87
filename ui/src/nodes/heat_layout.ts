// Row layout of a node's heatmap: cores, a gap, GPUs.

import type { HeatRow } from "./source";

export type RowGroup = { kind: "cpu" | "gpu"; order: number[]; top: number; rowHeight: number };
export type RowLayout = { groups: RowGroup[]; height: number };

const GAP = 8;

/** The height of rows: smaller with more rows, but at least two pixels. */
export function rowHeight(count: number, kind: "cpu" | "gpu"): number {
  const maxHeight = count <= 8 ? 16 : kind === "gpu" ? 12 : 9;
  return Math.max(
    2,
    Math.min(maxHeight, Math.floor((kind === "gpu" ? 160 : 288) / Math.max(1, count))),
  );
}

/** Rows by number, or with `loads` the busiest first. */
export function layoutRows(devices: readonly HeatRow[], loads: Float64Array | null): RowLayout {
  const groups: RowGroup[] = [];
  let top = 0;
  for (const kind of ["cpu", "gpu"] as const) {
    const order = devices.flatMap((device, row) => (device.kind === kind ? [row] : []));
    if (!order.length) continue;
    if (loads) order.sort((a, b) => (loads[b] || 0) - (loads[a] || 0) || a - b);
    if (groups.length) top += GAP;
    const height = rowHeight(order.length, kind);
    groups.push({ kind, order, top, rowHeight: height });
    top += order.length * height;
  }
  return { groups, height: Math.max(60, top) };
}

/** The row at a vertical position; −1 in the gap and below. */
export function rowAt(layout: RowLayout, y: number): number {
  for (const group of layout.groups) {
    const index = Math.floor((y - group.top) / group.rowHeight);
    if (index >= 0 && index < group.order.length) return group.order[index]!;
  }
  return -1;
}

const LABEL_PIXELS = 13;

/** The distance of labeled rows (1, 2, 4, 8, …), so that labels do not overlap. */
export function labelStep(rowHeight: number): number {
  let step = 1;
  while (step * rowHeight < LABEL_PIXELS) step *= 2;
  return step;
}
