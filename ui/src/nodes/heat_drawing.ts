// Draws a heatmap with a color bar on a canvas over time.

import { type Area, FONT } from "../canvas";
import { color } from "../colors";
import { hasWideMargin, xAt } from "../gestures";
import { type Heat, paintCodes, parseColor, rampTable } from "./heat_image";

export type HeatScale = { low: number; high: number };
const STOPS = ["--heat-0", "--heat-1", "--heat-2", "--heat-3", "--heat-4", "--heat-5"];

const tables = new Map<string, Uint32Array>();

/** The colors of codes in the current theme, cached by scale. */
export function heatTable(scale: HeatScale): Uint32Array {
  const key = [color("--heat-0"), scale.low, scale.high].join();
  let table = tables.get(key);
  if (!table) {
    table = rampTable(
      STOPS.map((name) => parseColor(color(name))),
      parseColor(color("--heat-none")),
      scale.low,
      scale.high,
    );
    if (tables.size > 64) tables.clear();
    tables.set(key, table);
  }
  return table;
}

/** Heatmap cells as an offscreen image, repainted only for new data, rows or colors. */
export class Sheet {
  private painted: { heat: Heat; order: readonly number[]; table: Uint32Array } | null = null;
  private canvas: HTMLCanvasElement | null = null;

  paint(heat: Heat, order: readonly number[], table: Uint32Array): HTMLCanvasElement {
    const { painted } = this;
    this.canvas ??= document.createElement("canvas");
    if (painted?.heat === heat && painted.order === order && painted.table === table)
      return this.canvas;
    this.painted = { heat, order, table };
    const { canvas } = this;
    canvas.width = heat.columns;
    canvas.height = order.length;
    const g = canvas.getContext("2d")!;
    const image = g.createImageData(heat.columns, order.length);
    paintCodes(heat, order, table, new Uint32Array(image.data.buffer));
    g.putImageData(image, 0, 0);
    return canvas;
  }
}

export type Rows = {
  heat: Heat;
  order: readonly number[];
  table: Uint32Array;
  top: number;
  rowHeight: number;
};

/** Draws rows of `rowHeight` pixels from `top`. */
export function drawHeat(g: CanvasRenderingContext2D, area: Area, sheet: Sheet, rows: Rows): void {
  const { heat, order, table, top, rowHeight } = rows;
  if (!heat.columns || !order.length) return;
  const from = xAt(heat.start, area.width, area.window);
  const to = xAt(heat.start + heat.columns * heat.width, area.width, area.window);
  g.save();
  g.beginPath();
  g.rect(area.left, top, area.plot, order.length * rowHeight);
  g.clip();
  g.imageSmoothingEnabled = rowHeight < 1;
  g.drawImage(sheet.paint(heat, order, table), from, top, to - from, order.length * rowHeight);
  g.restore();
}

/** Draws the color bar in the right margin. */
export function drawColorBar(
  g: CanvasRenderingContext2D,
  area: Area,
  table: Uint32Array,
  labels: readonly [string, string, string],
): void {
  const isWide = hasWideMargin(area.width);
  const x = area.left + area.plot + (isWide ? 12 : 4),
    top = 8;
  const height = Math.min(120, Math.max(24, area.height - 20));
  for (let y = 0; y < height; y++) {
    const packed = table[Math.round((1 - y / (height - 1)) * 200)]!;
    g.fillStyle = `rgb(${packed & 255} ${(packed >> 8) & 255} ${(packed >> 16) & 255})`;
    g.fillRect(x, top + y, 10, 1);
  }
  g.strokeStyle = color("--line");
  g.strokeRect(x - 0.5, top - 0.5, 11, height + 1);
  g.fillStyle = color("--muted");
  g.font = FONT;
  g.textAlign = "left";
  g.textBaseline = "middle";
  const shown = height < 60 ? [labels[0], "", labels[2]] : labels;
  shown.forEach((label, i) => {
    g.fillText(label, x + (isWide ? 16 : 13), top + height - (height * i) / 2);
  });
}
