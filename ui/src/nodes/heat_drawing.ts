// Draws a heatmap onto a canvas over time, with its color bar.

import { FONT, type Area } from "../canvas";
import { color } from "../colors";
import { xAt } from "../gestures";
import { paintCodes, parseColor, rampTable, type Heat } from "./heat_image";

export type HeatScale = { low: number; high: number };
const STOPS = ["--heat-0", "--heat-1", "--heat-2", "--heat-3", "--heat-4", "--heat-5"];

export function heatTable(scale: HeatScale): Uint32Array {
  return rampTable(STOPS.map((name) => parseColor(color(name))), parseColor(color("--heat-none")), scale.low, scale.high);
}

let sheet: HTMLCanvasElement | null = null;

/** Rows in a given order, from `top`, `rowHeight` pixels each; the time axis is the area's. */
export function drawHeat(g: CanvasRenderingContext2D, area: Area, heat: Heat, order: readonly number[], table: Uint32Array, place: { top: number; rowHeight: number }): void {
  if (!heat.columns || !order.length) return;
  sheet ??= document.createElement("canvas");
  sheet.width = heat.columns;
  sheet.height = order.length;
  const own = sheet.getContext("2d")!;
  const image = own.createImageData(heat.columns, order.length);
  paintCodes(heat, order, table, new Uint32Array(image.data.buffer));
  own.putImageData(image, 0, 0);
  const from = xAt(heat.start, area.width, area.window);
  const to = xAt(heat.start + heat.columns * heat.width, area.width, area.window);
  g.save();
  g.beginPath();
  g.rect(area.left, place.top, area.plot, order.length * place.rowHeight);
  g.clip();
  g.imageSmoothingEnabled = place.rowHeight < 1;
  g.drawImage(sheet, from, place.top, to - from, order.length * place.rowHeight);
  g.restore();
}

/** The color bar in the right margin: which color means which value. */
export function drawColorBar(g: CanvasRenderingContext2D, area: Area, table: Uint32Array, labels: readonly [string, string, string]): void {
  const x = area.left + area.plot + 12, top = 8;
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
  shown.forEach((label, i) => g.fillText(label, x + 16, top + height - (height * i) / 2));
}
